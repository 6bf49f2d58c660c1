// Package drive runs a test binary that repeats its own functions, in as many processes as needed.
// It tries each function out, explores all repeatable functions together, and splits the group
// while something grows in it. A function that ends its process or does not return costs only
// itself.
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
	Test     string // name of the test that calls repeat.Run
	Dir      string // the package's folder
	Env      []string
	Args     []string // user's arguments for the test binary
	Folder   string   // for orders, journals and records
	Budget   time.Duration
	Subtests string // pattern of tests and subtests to run, in the syntax of -test.run; "": all
	// Matters returns the roots in a record whose growth is worth splitting a group for.
	Matters func(*verdict.Result) []string
}

// A Tried is a function, and the result of trying it out.
type Tried struct {
	Name   string
	Status repeat.Status
	Took   time.Duration // of one call
	Reason string        // exit status or output, where it cannot be repeated
}

// An Exploration is a group of functions that were repeated together.
type Exploration struct {
	Functions []string
	Record    *verdict.Result // nil: there is none
	Folder    string          // of the record
	Reason    string          // why there is none
}

// A Report is the result for one package.
type Report struct {
	Functions []Tried
	// Groups has the largest group first, then the groups split off from it. Each group comes after
	// the one that it is part of.
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
	// Spent says that time ran out before each growing group was split.
	Spent bool
}

// How the time of a package is shared out.
const (
	tryShare  = 0.5  // of the budget, for trying functions out
	wholePart = 0.75 // of the budget; the first exploration must end by then
	// of the budget; more tests that feed a known root are looked for only while this much is left
	othersPart = 0.6
	minLeft    = 2 * time.Second // less time is not worth a process
	maxRuns    = 400             // processes for a package
	maxHang    = 20 * time.Second
	// The first calls of a function have little time, so that a function that sleeps does not delay
	// those after it. Starting another process costs less.
	quick     = 400 * time.Millisecond
	minHang   = 2 * time.Second
	hangShare = 0.05 // of the budget, for a call that does not return
)

// state is one package while it is explored.
type state struct {
	*Binary
	ctx       context.Context
	end       time.Time
	tried     map[string]*Tried
	longLimit map[string]bool // functions whose calls may take the longest time, hangs()
	runs      int

	lastGroup []string // functions that the last process explored
	report    *Report
	located   map[string]bool     // roots that a group of one function is known to feed
	subtests  map[string][]string // subtests of each test that was explored alone, and grew
}

// Run repeats functions of a binary, then holds the loops of benchmarks. It takes at most the
// budget, and the time to kill a process. The error comes from the system or from ctx.
func (b *Binary) Run(ctx context.Context, functions, benchmarks []string) (*Report, error) {
	s := &state{
		Binary: b, ctx: ctx, end: time.Now().Add(b.Budget), report: &Report{},
		tried: make(map[string]*Tried), longLimit: make(map[string]bool), located: make(map[string]bool),
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

// ranLate reports whether several functions have no verdict because their time ran out.
func (s *state) ranLate(group *Exploration) bool {
	r := group.Record
	return len(group.Functions) > 1 && r != nil && r.Verdict == verdict.Unknown && strings.HasPrefix(r.Cause, LateCause)
}

// LateCause is the prefix of the cause of an assertion that is unknown because its time ran out.
const LateCause = "the test times out in "

// fewer explores the quicker half of a group instead of the group, in the time that is left.
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

// split explores halves of a group while a root grows in it that no single function is known to
// feed.
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
		// More functions that feed located roots are looked for only while there is time.
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

// splitTest explores the subtests of a group's only function as if they were functions. Each call
// of the test runs one subtest and leaves out the others.
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

// explore explores a group of functions, without those that end their process or fail. It returns
// nil if no function or no time is left.
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
			end = s.end // splitting is of no use without a first exploration
		}
		e, again, err := s.process(left, end)
		if again && len(s.lastGroup) > 1 {
			// Tests that fail now and then, because they depend on time, rarely come alone.
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

// maxFailures is how often a group may fail before its slower half is left out.
const maxFailures = 3

// leaveSlower leaves out the slower half of a group, which is sorted by time.
func (s *state) leaveSlower(group []string) {
	for _, name := range group[(len(group)+1)/2:] {
		if t := s.tried[name]; t.Status == repeat.OK {
			t.Status = repeat.Left
		}
	}
}

// repeatable returns the functions that may still be repeated; those with the longer limit come
// last.
func (s *state) repeatable(functions []string) []repeat.Function {
	var left []repeat.Function
	for _, patient := range []bool{false, true} {
		for _, name := range functions {
			if t := s.tried[name]; s.longLimit[name] == patient && (t.Status == "" || t.Status == repeat.OK) {
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

// process runs one process. again says that the process ended early because of one of its
// functions, whose status is recorded: the other functions can be tried again.
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
		o.ProbeEnd = end.Add(-minLeft) // subtests were not tried out when the tests were
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
	case p.journalFailed:
		s.noRoom("what its test process does cannot be written: " + lastLine(p.lastOutput()))
		return nil, false, nil
	case !p.began:
		s.report.Broken = p.whyNotBegun()
		return nil, false, nil
	case p.hung != "" && len(p.group) == 0 && !s.longLimit[p.hung]:
		culprit = p.hung
		s.longLimit[culprit] = true
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

// noRoom records that nothing is known of the package, since results could not be written.
func (s *state) noRoom(why string) {
	s.report.Broken, s.report.Remedy = why, "make room where TMPDIR is"
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

// hangs returns how long a call may take before it counts as hanging.
func (s *state) hangs() time.Duration {
	return max(minHang, min(maxHang, time.Duration(hangShare*float64(s.Budget))))
}

// errNoRecord says that an exploration left no record.
var errNoRecord = errors.New("leakcheck left no record of what it saw")
