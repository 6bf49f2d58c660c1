// Package drive runs a test binary that repeats its own functions, in as many processes as needed.
// It tries each function out, explores the quick ones together, and splits the group while
// something grows in it. Then it holds the loops of benchmarks, and explores the slower functions,
// in smaller groups, while there is time. A function that ends its process or does not return costs
// only itself.
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
	// Matters returns the roots in a group's record whose growth is worth splitting the group for.
	Matters func(*Exploration) []string
	Say     func(what string, end time.Time) // takes what is done next, and until when all is
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
	Late      bool            // the time was over
	// Lifetimes are what a call of all functions hands out and ends, by key; nil: not counted
	Lifetimes map[string]repeat.Lifetime
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
}

// How the time of a package is shared out.
const (
	tryShare  = 0.5  // of the time left, for trying functions out
	wholePart = 0.75 // of the budget; the first exploration must end by then
	heldPart  = 0.5  // of the time left, for loops of benchmarks, while slower functions wait
	// of the budget; more tests that feed a known root are looked for only while this much is left
	othersPart = 0.6
	minLeft    = 2 * time.Second // less time is not worth a process
	maxRuns    = 400             // processes for a package
	maxHang    = 20 * time.Second
	// The first calls of a function have little time, so that a function that sleeps does not delay
	// those after it. Starting another process costs less.
	quick        = 400 * time.Millisecond
	patientCalls = 6 // at least of a function that is not quick
	minHang      = 2 * time.Second
	hangShare    = 0.05 // of the budget, for a call that does not return
)

// state is one package while it is explored.
type state struct {
	*Binary
	ctx     context.Context
	end     time.Time
	tried   map[string]*Tried
	patient map[string]bool   // functions that are not quick, and wait until the others are done
	held    map[string]*Tried // benchmarks
	wholes  []*Exploration    // what waves explored
	runs    int
	// something has grown, so that it matters what functions hand out, and what of it is ended
	counts bool

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
		tried: make(map[string]*Tried), patient: make(map[string]bool), held: make(map[string]*Tried),
		located: make(map[string]bool), subtests: make(map[string][]string),
	}
	for _, name := range functions {
		s.tried[name] = &Tried{Name: name}
	}
	err := s.wave(functions, time.Now().Add(time.Duration(wholePart*float64(b.Budget))))
	end := s.end
	if len(s.waiting(functions, false)) > 0 {
		end = time.Now().Add(time.Duration(heldPart * float64(time.Until(s.end))))
	}
	if err == nil {
		err = s.hold(benchmarks, end)
	}
	if err == nil {
		err = s.waves(functions, false)
	}
	if err == nil {
		err = s.hold(benchmarks, s.end)
	}
	if err == nil {
		err = s.waves(functions, true)
	}
	s.settle()
	for _, name := range functions {
		s.report.Functions = append(s.report.Functions, *s.tried[name])
	}
	for _, name := range benchmarks {
		t := Tried{Name: name, Status: repeat.OutOfTime}
		if s.held[name] != nil {
			t = *s.held[name]
		}
		s.report.Benchmarks = append(s.report.Benchmarks, t)
	}
	return s.report, err
}

// waiting returns the functions that have had no room or no time so far: quick ones, or with
// patient all.
func (s *state) waiting(functions []string, patient bool) []string {
	return slices.DeleteFunc(slices.Clone(functions), func(name string) bool {
		t := s.tried[name]
		return s.patient[name] && !patient || t.Status != repeat.Left && t.Status != repeat.OutOfTime && (t.Status != "" || !s.patient[name])
	})
}

// waves explores waiting functions while there is time.
func (s *state) waves(functions []string, patient bool) error {
	for left := s.waiting(functions, patient); len(left) > 0 && s.report.Broken == ""; {
		if err := s.wave(left, s.end); err != nil {
			return err
		}
		now := s.waiting(functions, patient)
		if len(now) >= len(left) {
			return nil // there is no time
		}
		left = now
	}
	return nil
}

// wave explores a group of functions and, while something grows, its parts.
func (s *state) wave(functions []string, end time.Time) error {
	for _, name := range functions {
		switch t := s.tried[name]; t.Status {
		case repeat.Left:
			t.Status = repeat.OK
		case repeat.OutOfTime:
			t.Status = ""
		}
	}
	whole, err := s.explore(functions, end)
	if err == nil && whole != nil && len(whole.Functions) > 1 && ranLate(whole) {
		whole, err = s.fewer(whole)
	}
	if err != nil || whole == nil {
		return err
	}
	if ranLate(whole) {
		s.forget(whole, repeat.Untold, "")
		return nil
	}
	if !s.counts && len(s.roots(whole)) > 0 {
		s.counts = true
		if len(whole.Functions) == 1 {
			again, err := s.explore(whole.Functions, s.end)
			if err != nil {
				return err
			}
			if again != nil && !ranLate(again) {
				s.replace(whole, again)
				whole = again
			}
		}
	}
	s.wholes = append(s.wholes, whole)
	return s.split(whole)
}

// replace drops a group that was explored once more.
func (s *state) replace(old, by *Exploration) {
	s.report.Groups = slices.DeleteFunc(s.report.Groups, func(g Exploration) bool { return g.Folder == old.Folder && by.Folder != old.Folder })
}

// settle removes the groups of which nothing is known, if anything is known of others. Functions
// that no group has were left out.
func (s *state) settle() {
	for name, t := range s.tried {
		if t.Status == repeat.OK && !s.explored(name) {
			t.Status = repeat.Left
		}
	}
	blind := func(e *Exploration) bool { return e.Record == nil || e.Record.Verdict == verdict.Unknown }
	if !slices.ContainsFunc(s.wholes, func(e *Exploration) bool { return !blind(e) }) {
		return
	}
	for _, e := range s.wholes {
		if blind(e) {
			why := e.Reason
			if e.Record != nil {
				why = e.Record.Cause
			}
			s.forget(e, repeat.Untold, why)
		}
	}
}

// forget removes a group, and gives its functions a status.
func (s *state) forget(e *Exploration, status repeat.Status, why string) {
	for _, name := range e.Functions {
		s.tried[name].Status, s.tried[name].Reason = status, why
	}
	s.report.Groups = slices.DeleteFunc(s.report.Groups, func(g Exploration) bool { return slices.Equal(g.Functions, e.Functions) })
}

// ranLate reports whether a group has no verdict because its time ran out.
func ranLate(group *Exploration) bool {
	r := group.Record
	return group.Late || r != nil && r.Verdict == verdict.Unknown && strings.HasPrefix(r.Cause, lateCause)
}

// lateCause is the prefix of the cause of an assertion that is unknown because its time ran out.
const lateCause = "the test times out in "

// fewer explores the quicker half of a group instead of the group, in the time that is left.
func (s *state) fewer(group *Exploration) (*Exploration, error) {
	functions := group.Functions // the quickest are first
	half := (len(functions) + 1) / 2
	if time.Until(s.end) < minLeft {
		return group, nil
	}
	s.forget(group, repeat.Left, "")
	for _, name := range functions[:half] {
		s.tried[name].Status = repeat.OK
	}
	return s.explore(functions[:half], s.end)
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
		return nil
	}
	half := len(group.Functions) / 2
	for _, part := range [][]string{group.Functions[:half], group.Functions[half:]} {
		// More functions that feed located roots are looked for only while there is time.
		left, located := time.Until(s.end), !slices.ContainsFunc(roots, func(root string) bool { return !s.located[root] })
		if left < minLeft || located && left < time.Duration(othersPart*float64(s.Budget)) {
			return nil
		}
		e, err := s.explore(part, s.end)
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
	return s.Matters(e)
}

// explore explores a group of functions, without those that end their process or fail. It returns
// nil if no function or no time is left.
func (s *state) explore(functions []string, end time.Time) (*Exploration, error) {
	for failures := 0; ; {
		left := s.repeatable(functions)
		if len(left) == 0 {
			return nil, nil
		}
		if len(s.report.Groups) == 0 && time.Until(end) < time.Duration((1-wholePart)*float64(s.Budget)) {
			end = s.end // splitting is of no use without a first exploration
		}
		if s.runs >= maxRuns || time.Until(end) < minLeft {
			for _, f := range left {
				if t := s.tried[f.Name]; t.Status == "" {
					t.Status = repeat.OutOfTime
				} else if !s.explored(f.Name) {
					t.Status = repeat.Left
				}
			}
			return nil, nil
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

// explored reports whether a function is in a group that was explored.
func (s *state) explored(name string) bool {
	return slices.ContainsFunc(s.report.Groups, func(e Exploration) bool { return slices.Contains(e.Functions, name) })
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

// repeatable returns the functions that may still be repeated: the quick ones, or the patient ones
// if all are.
func (s *state) repeatable(functions []string) []repeat.Function {
	isQuick := func(name string) bool { return !s.patient[name] }
	some := slices.ContainsFunc(functions, isQuick)
	var left []repeat.Function
	for _, name := range functions {
		if t := s.tried[name]; isQuick(name) == some && (t.Status == "" || t.Status == repeat.OK) {
			f := repeat.Function{Name: name, Took: t.Took, Limit: quick}
			if !some {
				f.Limit = max(quick, min(maxHang, time.Until(s.end)/patientCalls))
			}
			left = append(left, f)
		}
	}
	return left
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
		Hangs: s.hangs(), Lifetimes: s.counts,
		Artifacts: filepath.Join(folder, "records"), End: end, Subtests: s.Subtests,
		ProbeEnd: time.Now().Add(time.Duration(tryShare * float64(time.Until(s.end)))),
	}
	if strings.Contains(functions[0].Name, "/") {
		o.ProbeEnd = end.Add(-minLeft) // subtests were not tried out when the tests were
	}
	s.say("repeating", len(functions), "function")
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
	case p.hung != "" && !s.patient[p.hung] && s.tried[p.hung] != nil && !strings.Contains(p.hung, "/"):
		culprit = p.hung
		s.patient[culprit] = true
		s.tried[culprit] = &Tried{Name: culprit}
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
	e = &Exploration{Functions: p.group, Lifetimes: p.lifetimes}
	if p.killed {
		e.Late, e.Reason = true, fmt.Sprintf("its test process did not end in time, and was killed (%s for the package)", s.Budget)
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

// errNoRecord says that an exploration left no record.
var errNoRecord = errors.New("leakcheck left no record of what it saw")
