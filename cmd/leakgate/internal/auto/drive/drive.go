// Package drive runs a test binary that repeats its own functions, in as many processes as needed.
// A process tries functions out and explores them in small groups, whose verdicts stand. Groups in
// which something grows are split. Then it holds the loops of benchmarks, and explores the slower
// functions, one in a process and several at a time, while there is time. A function that ends its
// process or does not return costs only itself.
package drive

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/repeat"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/verdict"
)

// A Binary is a test binary, and how it is run.
type Binary struct {
	File     string
	Test     string // name of the test that calls repeat.Run
	Dir      string // the package's folder
	Env      []string
	Args     []string // user's arguments for the test binary
	Folder   string   // for orders, journals and records
	Budget   time.Duration
	Subtests string // pattern of tests and subtests to run, in the syntax of -test.run; "": all
	Beside   int    // processes at the same time, for functions that are slow, or many
	// RootsToSplit returns the roots in a group's record whose growth is worth splitting the group
	// for. Its calls do not overlap.
	RootsToSplit func(*Exploration) []Root
	Say          func(what string, end time.Time) // takes what is done next, and until when all is
}

// A Root is what makes something grow in a group.
type Root struct {
	Name      string
	Functions []string // on the stacks that make it grow, by name
}

// A Tried is a function, and the result of trying it out.
type Tried struct {
	Name   string
	Status repeat.Status
	Took   time.Duration // of one call
	// goroutines outlast a call
	Lingers bool
	Reason  string // exit status or output, where it cannot be repeated
}

// An Exploration is a group of functions that were repeated together.
type Exploration struct {
	Functions []string
	Record    *verdict.Result // nil: there is none
	Folder    string          // of the record
	Reason    string          // why there is none
	// Lifetimes are what a call of all functions hands out and ends, by key; nil: not counted
	Lifetimes map[string]repeat.Lifetime
}

// isBlind reports whether nothing is known of what a group leaves.
func (e *Exploration) isBlind() bool { return e.Record == nil || e.Record.Verdict == verdict.Unknown }

// A Report is the result for one package.
type Report struct {
	Functions []Tried
	// Groups has groups in the order in which they were explored, each before those split off from
	// it.
	Groups []Exploration
	// Held are the explored loops of benchmarks; each has the benchmark as its only function.
	Held []Exploration
	// Benchmarks are the benchmarks, and the result of trying to hold their loops.
	Benchmarks []Tried
	// Broken is why nothing is known of the package: for example, the binary ended before its
	// tests.
	Broken string
	Remedy string // what to do about Broken; "": go test says more
	// Cut says that a process was ended before its tests could clean up.
	Cut bool
}

// How the time of a package is shared out.
const (
	firstPart = 0.6             // of the budget, for functions that are quick, before groups are split
	splitPart = 0.85            // of the budget; the first splits must end by then
	heldPart  = 0.5             // of the time left, for loops of benchmarks, while slower functions wait
	minLeft   = 2 * time.Second // less time is not worth a process
	maxRuns   = 1000            // processes for a package
	maxHang   = 20 * time.Second
	// The first calls of a function have little time, so that a function that sleeps does not delay
	// those after it. Starting another process costs less.
	quick        = 250 * time.Millisecond
	patientCalls = 6 // at least of a function that is not quick
	minHang      = 2 * time.Second
	hangShare    = 0.05 // of the budget, for a call that does not return
)

// state is one package while it is explored.
type state struct {
	*Binary
	ctx context.Context
	end time.Time

	judging sync.Mutex // one call of Matters at a time

	mu          sync.Mutex // guards what follows
	tried       map[string]*Tried
	patient     map[string]bool   // functions that are not quick, and wait until the others are done
	explored    map[string]bool   // functions in groups that were explored
	held        map[string]*Tried // benchmarks
	runs        int
	report      *Report
	located     map[string]bool     // roots that a group of one function is known to feed
	subtests    map[string][]string // subtests of each test that was explored alone, and grew
	unsplit     []growing           // groups that are to be split
	fedByOthers [][]string          // parts of such groups, whose roots others are known to feed
}

// growing is a group in which roots grow.
type growing struct {
	*Exploration
	roots []Root
}

// Run repeats functions of a binary, then holds the loops of benchmarks. It takes at most the
// budget, and the time to kill a process. The error comes from the system or from ctx.
func (b *Binary) Run(ctx context.Context, functions, benchmarks []string) (*Report, error) {
	s := &state{
		Binary: b, ctx: ctx, end: time.Now().Add(b.Budget), report: &Report{},
		tried: make(map[string]*Tried), patient: make(map[string]bool), explored: make(map[string]bool), held: make(map[string]*Tried),
		located: make(map[string]bool), subtests: make(map[string][]string),
	}
	for _, name := range functions {
		s.tried[name] = &Tried{Name: name}
	}
	err := s.inTurn(functions, benchmarks)
	for _, name := range functions {
		t := *s.tried[name]
		if t.Status == repeat.OK && !s.explored[name] {
			t.Status = repeat.Left
		}
		s.report.Functions = append(s.report.Functions, t)
	}
	for _, name := range benchmarks {
		t := Tried{Name: name, Status: repeat.OutOfTime}
		if s.held[name] != nil {
			t = *s.held[name]
		}
		s.report.Benchmarks = append(s.report.Benchmarks, t)
	}
	s.settle()
	return s.report, err
}

// inTurn does one thing after the other, each while there is time for it.
func (s *state) inTurn(functions, benchmarks []string) error {
	part := func(share float64) time.Time { return s.end.Add(-time.Duration((1 - share) * float64(s.Budget))) }
	for _, step := range []func() error{
		func() error { return s.quickOnes(functions, part(firstPart)) },
		func() error { return s.splitAll(part(splitPart)) },
		func() error { return s.quickOnes(functions, s.end) },
		func() error {
			end := s.end
			if len(s.waiting(functions)) > 0 {
				end = time.Now().Add(time.Duration(heldPart * float64(time.Until(s.end))))
			}
			return s.hold(benchmarks, end)
		},
		func() error { return s.slowOnes(functions) },
		func() error { return s.splitAll(s.end) },
		func() error { return s.hold(benchmarks, s.end) },
		func() error { return s.splitOthers(s.end) },
	} {
		if s.report.Broken != "" {
			return nil
		}
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// left returns the functions that have no verdict, and may get one.
func (s *state) left(functions []string, patient bool) []string {
	return slices.DeleteFunc(slices.Clone(functions), func(name string) bool {
		status := s.tried[name].Status
		return s.explored[name] || s.patient[name] != patient || status != "" && status != repeat.OK && status != repeat.OutOfTime
	})
}

// waiting returns the functions that are slow and have no verdict.
func (s *state) waiting(functions []string) []string { return s.left(functions, true) }

// quickOnes explores functions in small groups until end, in one process, and another one after
// each that a function ends. Many functions are shared out among several processes at the same
// time: what takes long are waits. A function that fails there is tried once more in the next
// round, since tests may stand in each other's way.
func (s *state) quickOnes(functions []string, end time.Time) error {
	again := make(map[string]bool)
	for {
		left := s.left(functions, false)
		if len(left) == 0 || s.isOver(end) {
			return nil
		}
		progress := s.progress(functions)
		workers, shares := max(1, min(s.Beside, len(left)/shareSize)), [][]string{left}
		if workers > 1 {
			shares = slices.Collect(slices.Chunk(left, shareSize))
		}
		err := beside(workers, shares, func(slot int, share []string) error { return s.share(share, end, slot) })
		if err != nil {
			return err
		}
		for _, name := range left {
			t := s.tried[name]
			if workers > 1 && (t.Status == repeat.Fails || t.Status == repeat.Once) && !again[name] {
				again[name] = true
				s.tried[name] = &Tried{Name: name}
			}
		}
		if s.progress(functions) == progress {
			return nil
		}
	}
}

// share explores functions in one process after the other, until nothing more comes of it.
func (s *state) share(functions []string, end time.Time, slot int) error {
	for {
		s.mu.Lock()
		left, before := s.left(functions, false), s.progress(functions)
		s.mu.Unlock()
		if len(left) == 0 || s.isOver(end) {
			return nil
		}
		explored, err := s.process(task{functions: left, end: end, probeEnd: end.Add(-minLeft), slot: slot})
		if err != nil {
			return err
		}
		s.grown(explored)
		s.mu.Lock()
		after := s.progress(functions)
		s.mu.Unlock()
		if after == before {
			return nil
		}
	}
}

// isOver reports whether no further process is worth its while until end.
func (s *state) isOver(end time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Until(end) < minLeft || s.runs >= maxRuns || s.report.Broken != ""
}

// shareSize is how many functions of many one process has.
const shareSize = 100

// beside calls do for each of all, in several goroutines, each with a slot of its own.
func beside[T any](workers int, all []T, do func(slot int, one T) error) error {
	queue := make(chan T)
	errs := make([]error, workers)
	var wait sync.WaitGroup
	for slot := range workers {
		wait.Go(func() {
			for one := range queue {
				errs[slot] = errors.Join(errs[slot], do(slot, one))
			}
		})
	}
	for _, one := range all {
		queue <- one
	}
	close(queue)
	wait.Wait()
	return errors.Join(errs...)
}

// progress counts what is known of some functions. It is larger than before if the last process
// told more.
func (s *state) progress(functions []string) (n int) {
	for _, name := range functions {
		if t := s.tried[name]; t.Status != "" && t.Status != repeat.OutOfTime {
			n++
		}
		if s.explored[name] {
			n++
		}
		if s.patient[name] {
			n++
		}
	}
	return n
}

// slowOnes explores the functions that are slow, each in a process of its own, several at a time:
// most of them sleep.
func (s *state) slowOnes(functions []string) error {
	return beside(max(1, s.Beside), s.waiting(functions), func(slot int, name string) error {
		if s.isOver(s.end) {
			return nil
		}
		limit := max(quick, min(maxHang, time.Until(s.end)/patientCalls))
		explored, err := s.process(task{functions: []string{name}, end: s.end, probeEnd: s.end, limit: limit, slot: slot})
		s.grown(explored)
		return err
	})
}

// grown keeps the groups that are to be split, since something grows in them.
func (s *state) grown(explored []Exploration) {
	for i := range explored {
		if roots := s.roots(&explored[i]); len(roots) > 0 {
			s.mu.Lock()
			s.unsplit = append(s.unsplit, growing{&explored[i], roots})
			s.mu.Unlock()
		}
	}
}

// settle takes the verdicts from functions whose group is blind. If all are, the report keeps one,
// which says why.
func (s *state) settle() {
	known := make(map[string]bool)
	why := make(map[string]string)
	for _, e := range s.report.Groups {
		for _, name := range e.Functions {
			test, _, _ := strings.Cut(name, "/")
			switch {
			case !e.isBlind():
				known[name], known[test] = true, true
			case e.Record != nil:
				why[name] = e.Record.Cause
			default:
				why[name] = e.Reason
			}
		}
	}
	for i := range s.report.Functions {
		if t := &s.report.Functions[i]; t.Status == repeat.OK && !known[t.Name] {
			t.Status, t.Reason = repeat.Untold, why[t.Name]
		}
	}
	groups := slices.Clone(s.report.Groups)
	if s.report.Groups = slices.DeleteFunc(s.report.Groups, func(e Exploration) bool { return e.isBlind() }); len(s.report.Groups) == 0 {
		s.report.Groups = groups[:min(1, len(groups))]
	}
}

func (s *state) say(verb string, n int, noun string) {
	if s.Say != nil {
		s.Say(verb+" "+textfmt.CountNoun(int64(n), noun), s.end)
	}
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

// hangs returns how long a call may take before it counts as hanging.
func (s *state) hangs() time.Duration {
	return max(minHang, min(maxHang, time.Duration(hangShare*float64(s.Budget))))
}

// noRoom records that nothing is known of the package, since results could not be written.
func (s *state) noRoom(why string) {
	s.report.Broken, s.report.Remedy = why, "make room where TMPDIR is"
}

// errNoRecord says that an exploration left no record.
var errNoRecord = errors.New("leakcheck left no record of what it saw")

// pid is the process that test processes belong to.
var pid = os.Getpid()
