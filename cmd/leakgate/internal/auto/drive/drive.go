// Package drive runs a test binary that repeats its functions, in as many processes as it takes: it
// tries the functions out, has those that can be repeated explored together, and splits them where
// something grows. A function that ends its process, or does not come back, costs only itself.
package drive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/repeat"
	"github.com/leakgate/leakgate/internal/verdict"
)

// A Binary is a test binary, and how it is run.
type Binary struct {
	File     string
	Test     string // that repeats
	Dir      string // the package's folder
	Env      []string
	Args     []string // of the user, for the test binary
	Folder   string   // for orders, journals and records
	Budget   time.Duration
	Subtests string // pattern for what to run of tests, as -test.run has it; "": all of them
	// Matters says what of a record's growth is worth to be split for, by names of roots.
	Matters func(*verdict.Result) []string
}

// A Tried is a function, and what came of trying it out.
type Tried struct {
	Name   string
	Status repeat.Status
	Took   time.Duration // by a call
	Reason string        // what it printed, where it cannot be repeated
}

// An Exploration is a group of functions that were repeated together.
type Exploration struct {
	Functions []string
	Record    *verdict.Result // nil: there is none
	Folder    string          // of the record
	Reason    string          // why there is none
}

// A Report is what came of a package.
type Report struct {
	Functions []Tried
	// Groups has the largest group first, then those that it was split into, each after what it is
	// part of.
	Groups []Exploration
	// Held are loops of benchmarks; each has the benchmark as its only function.
	Held []Exploration
	// Benchmarks are those, and what came of trying to hold them.
	Benchmarks []Tried
	// Broken is why nothing is known: the binary did not come as far as to its tests.
	Broken string
	Remedy string // of that; "": go test says more
	// Cut says that a process was ended before its tests could clean up.
	Cut bool
	// Spent says that there was no time to split all that grows.
	Spent bool
}

// How the time of a package is shared out.
const (
	tryShare  = 0.5  // of the budget, for trying functions out
	wholePart = 0.75 // of the budget, until the first exploration must be done
	// of the budget, which must be left for looking for more tests that feed a root
	othersPart = 0.6
	minLeft    = 2 * time.Second // less is not worth a process
	maxRuns    = 400             // processes for a package
	maxHang    = 20 * time.Second
	// Calls that are tried out have little time at first, so that those that sleep do not keep back
	// all that come after them: to start a process anew takes less.
	quick     = 400 * time.Millisecond
	minHang   = 2 * time.Second
	hangShare = 0.05 // of the budget, for a call that does not come back
)

// state is a package on its way.
type state struct {
	*Binary
	ctx     context.Context
	end     time.Time
	tried   map[string]*Tried
	patient map[string]bool // functions that have all the time that a call may take
	runs    int

	lastGroup []string // that the last process explored
	report    *Report
	located   map[string]bool     // roots that a group of one function feeds
	subtests  map[string][]string // of tests that were explored alone, and grew
}

// Run repeats functions of a binary. It takes the budget at most, and what a process needs to be
// killed. The error is that of the system, or of ctx.
func (b *Binary) Run(ctx context.Context, functions, benchmarks []string) (*Report, error) {
	s := &state{
		Binary: b, ctx: ctx, end: time.Now().Add(b.Budget), report: &Report{},
		tried: make(map[string]*Tried), patient: make(map[string]bool), located: make(map[string]bool),
		subtests: make(map[string][]string),
	}
	for _, name := range functions {
		s.tried[name] = &Tried{Name: name}
	}
	whole, err := s.explore(functions, time.Now().Add(time.Duration(wholePart*float64(b.Budget))), true)
	if err == nil && whole != nil && s.ranLate(whole) {
		whole, err = s.fewer(whole)
	}
	if err == nil && whole != nil {
		err = s.split(whole)
	}
	for _, name := range functions {
		s.report.Functions = append(s.report.Functions, *s.tried[name])
	}
	if err == nil && s.report.Broken == "" {
		err = s.hold(benchmarks)
	}
	return s.report, err
}

// ranLate reports whether there was no time to tell anything of a group.
func (s *state) ranLate(group *Exploration) bool {
	r := group.Record
	return len(group.Functions) > 1 && r != nil && r.Verdict == verdict.Unknown && strings.HasPrefix(r.Cause, LateCause)
}

// LateCause begins the cause of an assertion that is unknown since its time was over.
const LateCause = "the test times out in "

// fewer explores the quicker half of a group in place of it, in the time that is left.
func (s *state) fewer(group *Exploration) (*Exploration, error) {
	functions := slices.Clone(group.Functions) // the quickest are first
	half := (len(functions) + 1) / 2
	if time.Until(s.end) < minLeft {
		return nil, nil
	}
	whole := s.report.Groups
	s.report.Groups = nil
	e, err := s.explore(functions[:half], s.end, false)
	if e == nil {
		s.report.Groups = whole
		return nil, err
	}
	for _, name := range functions[half:] {
		s.tried[name].Status = repeat.Left
	}
	return e, nil
}

// split explores halves of a group as long as something grows in it whose function is not known.
func (s *state) split(group *Exploration) error {
	roots := s.roots(group)
	if len(group.Functions) == 1 {
		for _, root := range roots {
			s.located[root] = true
		}
		return s.splitTest(group, roots)
	}
	if !slices.ContainsFunc(roots, func(root string) bool { return !s.located[root] }) {
		return nil
	}
	if time.Until(s.end) < minLeft || s.runs >= maxRuns {
		s.report.Spent = true
		return nil
	}
	half := len(group.Functions) / 2
	for _, part := range [][]string{group.Functions[:half], group.Functions[half:]} {
		// Which other tests feed what has been located is told as far as time allows.
		left, located := time.Until(s.end), !slices.ContainsFunc(roots, func(root string) bool { return !s.located[root] })
		if located && left < time.Duration(othersPart*float64(s.Budget)) {
			return nil
		}
		if left < minLeft {
			s.report.Spent = true
			return nil
		}
		e, err := s.explore(part, s.end, false)
		if err != nil {
			return err
		}
		if e != nil {
			if err := s.split(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// splitTest explores the subtests of the only function of a group as if they were functions, each
// by a call of the test that leaves out the others.
func (s *state) splitTest(group *Exploration, roots []string) error {
	test := group.Functions[0]
	subtests := s.subtests[test]
	if len(subtests) < 2 || len(roots) == 0 {
		return nil
	}
	whole := Exploration{Record: group.Record}
	for _, name := range subtests {
		name = test + "/" + name
		whole.Functions = append(whole.Functions, name)
		s.tried[name] = &Tried{Name: name}
	}
	for _, root := range roots {
		s.located[root] = false
	}
	err := s.split(&whole)
	for _, root := range roots {
		s.located[root] = true
	}
	return err
}

func (s *state) roots(e *Exploration) []string {
	if e.Record == nil || e.Record.Verdict != verdict.Fail {
		return nil
	}
	return s.Matters(e.Record)
}

// explore has a group of functions explored, without those that turn out to end their process, or
// to fail. It returns nil where none is left.
func (s *state) explore(functions []string, end time.Time, first bool) (*Exploration, error) {
	for failures := 0; ; {
		left := s.repeatable(functions)
		if len(left) == 0 {
			return nil, nil
		}
		if s.runs >= maxRuns || time.Until(end) < minLeft {
			s.report.Spent = true
			e := Exploration{Functions: names(left), Reason: fmt.Sprintf("the time for this package, %s, was over before its functions could be repeated", s.Budget)}
			if first {
				s.report.Groups = append(s.report.Groups, e)
			}
			return nil, nil
		}
		if first && time.Until(end) < time.Duration((1-wholePart)*float64(s.Budget)) {
			end = s.end // splitting would be of no use without a first look
		}
		e, again, err := s.process(left, end)
		if again && len(s.lastGroup) > 1 {
			// Tests that fail now and then come in numbers: those that depend on time.
			if failures++; failures > maxFailures {
				s.leaveSlower(s.lastGroup)
				failures = 0
			}
		}
		switch {
		case err != nil || s.report.Broken != "":
			return nil, err
		case again:
			continue
		case e != nil:
			s.report.Groups = append(s.report.Groups, *e)
		}
		return e, nil
	}
}

// maxFailures is how often a group may fail before the slower half of it is left out.
const maxFailures = 3

// leaveSlower leaves out the slower half of a group, whose order is by time.
func (s *state) leaveSlower(group []string) {
	for _, name := range group[(len(group)+1)/2:] {
		if t := s.tried[name]; t.Status == repeat.OK {
			t.Status = repeat.Left
		}
	}
}

// repeatable returns those functions of which nothing is known that is against it.
func (s *state) repeatable(functions []string) []repeat.Function {
	var left []repeat.Function
	for _, patient := range []bool{false, true} {
		for _, name := range functions {
			if t := s.tried[name]; s.patient[name] == patient && (t.Status == "" || t.Status == repeat.OK) {
				f := repeat.Function{Name: name, Took: t.Took, Limit: quick}
				if patient {
					f.Limit = s.hangs()
				}
				left = append(left, f)
			}
		}
	}
	return left
}

func names(functions []repeat.Function) []string {
	var out []string
	for _, f := range functions {
		out = append(out, f.Name)
	}
	return out
}

// process runs one process. again says that it ended before its time, for what is known now of one
// of its functions.
func (s *state) process(functions []repeat.Function, end time.Time) (e *Exploration, again bool, err error) {
	s.runs++
	folder := filepath.Join(s.Folder, fmt.Sprintf("run-%d", s.runs))
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, false, err
	}
	o := repeat.Orders{
		Journal: filepath.Join(folder, "journal"), Functions: functions, Label: fmt.Sprintf("group-%d", s.runs), Parent: os.Getpid(),
		Hangs:     s.hangs(),
		Artifacts: filepath.Join(folder, "records"), End: end, Subtests: s.Subtests,
		ProbeEnd: s.end.Add(-time.Duration((1 - tryShare) * float64(s.Budget))),
	}
	if strings.Contains(functions[0].Name, "/") {
		o.ProbeEnd = end.Add(-minLeft) // subtests have not been tried out when the tests were
	}
	p, err := s.start(&o, folder)
	if err != nil {
		return nil, false, err
	}
	if err := s.ctx.Err(); err != nil {
		return nil, false, err
	}
	for i := range p.tried {
		t := &p.tried[i]
		s.tried[t.Name] = t
	}
	culprit := p.failed
	s.lastGroup = p.group
	if len(p.group) == 1 {
		s.subtests[p.group[0]] = p.subtests
	}
	switch {
	case p.full:
		s.noRoom("what its test process does cannot be written: " + lastLine(p.lastOutput()))
		return nil, false, nil
	case !p.began:
		s.report.Broken = p.whyNotBegun()
		return nil, false, nil
	case p.hung != "" && len(p.group) == 0 && !s.patient[p.hung]:
		culprit = p.hung
		s.patient[culprit] = true
	case p.hung != "":
		culprit = p.hung
		s.tried[culprit] = &Tried{Name: culprit, Status: repeat.Hangs, Took: p.hungFor}
	case p.failed != "":
		s.tried[culprit] = &Tried{Name: culprit, Status: repeat.Once, Took: s.tried[culprit].Took, Reason: p.failedOutput}
	case !p.ended && !p.killed:
		culprit = p.output.function
		if s.tried[culprit] == nil {
			s.report.Broken = "its test process ended before a test had begun:\n" + p.lastOutput()
			return nil, false, nil
		}
		s.tried[culprit] = &Tried{Name: culprit, Status: repeat.Ended, Reason: p.exit + "\n" + p.lastOutput()}
	}
	if culprit != "" {
		return nil, true, nil
	}
	if len(p.group) == 0 && !p.killed {
		return nil, false, nil // none can be repeated
	}
	e = &Exploration{Functions: p.group}
	if p.killed {
		e.Reason = fmt.Sprintf("its test process did not end in time, and was killed (%s for the package)", s.Budget)
	}
	e.Record, e.Folder, err = readRecord(o.Artifacts, o.Label)
	if err != nil && e.Reason == "" {
		e.Reason = err.Error()
	}
	if e.Record == nil && p.log != "" {
		e.Reason = p.log
	}
	if e.Record == nil && strings.Contains(p.log, syscall.ENOSPC.Error()) {
		s.noRoom("there was no room for what leakcheck found: " + syscall.ENOSPC.Error())
		return nil, false, nil
	}
	return e, false, nil
}

// noRoom says that nothing is known, since it could not be written.
func (s *state) noRoom(why string) {
	s.report.Broken, s.report.Remedy = why, "make room where TMPDIR is"
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

// hangs is how long a call that is tried out may take.
func (s *state) hangs() time.Duration {
	return max(minHang, min(maxHang, time.Duration(hangShare*float64(s.Budget))))
}

// errNoRecord is for an exploration that left none.
var errNoRecord = errors.New("leakcheck left no record of what it saw")
