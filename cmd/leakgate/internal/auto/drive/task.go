package drive

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/repeat"
)

// A task is what one process is to explore.
type task struct {
	functions     []string
	end, probeEnd time.Time     // of all, and of trying functions out
	limit         time.Duration // of a call that tries a function out; 0: quick
	together      bool          // they are one group
	lifetimes     bool          // what they hand out and end is counted
	slot          int           // of processes that run at the same time
}

// orders writes down a task for a process.
func (s *state) orders(t *task, folder, label string) *repeat.Orders {
	o := &repeat.Orders{
		Journal: filepath.Join(folder, "journal"), Label: label, Parent: pid, Hangs: s.hangs(), Lifetimes: t.lifetimes, Together: t.together,
		Artifacts: filepath.Join(folder, "records"), End: t.end, Subtests: s.Subtests, ProbeEnd: t.probeEnd,
	}
	limit := t.limit
	if limit == 0 {
		limit = quick
	}
	for _, name := range t.functions {
		o.Functions = append(o.Functions, repeat.Function{Name: name, Took: s.tried[name].Took, Limit: limit})
	}
	return o
}

// process runs one process, and notes what it finds out. A function that ends the process, or does
// not return, has a status then; the others of its group have no verdict yet.
func (s *state) process(t task) error {
	s.mu.Lock()
	s.runs++
	label := fmt.Sprintf("run-%d", s.runs)
	folder := filepath.Join(s.Folder, label)
	o := s.orders(&t, folder, label)
	s.say("repeating", len(t.functions), "function")
	s.mu.Unlock()
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	p, err := s.start(o, folder, t.slot)
	if err != nil {
		return err
	}
	if err := s.ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.Cut = s.report.Cut || !p.ended
	for i := range p.tried {
		tried := &p.tried[i]
		if tried.Took == 0 && s.tried[tried.Name] != nil {
			tried.Took = s.tried[tried.Name].Took
		}
		if tried.Status == repeat.Left { // slower than it was, and to be explored by itself
			s.patient[tried.Name], tried.Status = true, ""
		}
		if tried.Status != repeat.Once || !s.explored[tried.Name] { // a verdict stands
			s.tried[tried.Name] = tried
		}
	}
	for test, names := range p.subtests {
		s.subtests[test] = names
	}
	for _, g := range p.groups {
		s.take(&g, o)
	}
	s.fate(p, &t)
	return nil
}

// take adds a group that was explored to its end to the report.
func (s *state) take(g *group, o *repeat.Orders) {
	e := Exploration{Functions: g.functions}
	if o.Lifetimes {
		e.Lifetimes = make(map[string]repeat.Lifetime)
		maps.Copy(e.Lifetimes, g.lifetimes)
	}
	var err error
	e.Record, e.Folder, err = readRecord(o.Artifacts, g.label)
	if e.Record == nil {
		e.Reason = g.log
		if err != nil && e.Reason == "" {
			e.Reason = err.Error()
		}
		if strings.Contains(g.log, syscall.ENOSPC.Error()) {
			s.noRoom("there was no room for what leakcheck found: " + syscall.ENOSPC.Error())
			return
		}
	}
	if e.isBlind() && o.End.Before(s.end) {
		return // there is time to look again
	}
	for _, name := range g.functions {
		s.explored[name] = true
	}
	s.report.Groups = append(s.report.Groups, e)
	if len(s.roots(&e)) > 0 {
		s.unsplit = append(s.unsplit, &e)
	}
}

// fate notes how a process ended, if it was not by itself.
func (s *state) fate(p *process, t *task) {
	isFunction := s.tried[p.hung] != nil
	switch {
	case p.journalFailed:
		s.noRoom("what its test process does cannot be written: " + lastLine(p.lastOutput()))
	case !p.began:
		s.report.Broken = p.whyNotBegun()
	case p.hung != "" && isFunction && t.limit == 0 && !strings.Contains(p.hung, "/"):
		s.patient[p.hung] = true
		s.tried[p.hung] = &Tried{Name: p.hung}
	case p.hung != "":
		s.tried[p.hung] = &Tried{Name: p.hung, Status: repeat.Hangs, Took: p.hungFor}
	case p.killed:
		if p.current != nil { // the time was over in the midst of it
			for _, name := range p.current.functions {
				s.tried[name].Status = repeat.Untold
			}
		}
	case !p.ended:
		culprit := p.output.function
		if s.tried[culprit] == nil {
			s.report.Broken = "its test process ended before a test had begun:\n" + p.lastOutput()
			return
		}
		s.tried[culprit] = &Tried{Name: culprit, Status: repeat.Ended, Reason: p.exit + "\n" + p.lastOutput()}
	case t.limit > 0 && len(p.groups) == 0 && s.tried[t.functions[0]].Status == repeat.OK:
		s.tried[t.functions[0]].Status = repeat.Untold
	}
}

// roots returns the roots for which it is worth knowing which function of a group feeds them.
func (s *state) roots(e *Exploration) []string {
	if e.Record == nil || e.Record.Verdict != "fail" {
		return nil
	}
	return s.Matters(e)
}

// splitAll splits the groups in which something grows until end, those that were explored first
// before others.
func (s *state) splitAll(end time.Time) error {
	for len(s.unsplit) > 0 && time.Until(end) > minLeft && s.report.Broken == "" {
		e := s.unsplit[0]
		s.unsplit = s.unsplit[1:]
		if err := s.split(e, end); err != nil {
			return err
		}
	}
	return nil
}

// split explores halves of a group while a root grows in it that no single function is known to
// feed. Then it counts what functions hand out and end, which matters where something grows.
func (s *state) split(e *Exploration, end time.Time) error {
	roots := s.roots(e)
	if len(e.Functions) == 1 {
		if e.Lifetimes == nil {
			return s.again(e, end)
		}
		for _, root := range roots {
			s.located[root] = true
		}
		return s.splitTest(e, roots, end)
	}
	if !slices.ContainsFunc(roots, func(root string) bool { return !s.located[root] }) {
		return nil
	}
	half := len(e.Functions) / 2
	for _, part := range [][]string{e.Functions[:half], e.Functions[half:]} {
		if err := s.part(part, end); err != nil {
			return err
		}
	}
	return nil
}

// part explores a part of a group, and splits it if something grows in it.
func (s *state) part(functions []string, end time.Time) error {
	if time.Until(end) < minLeft || s.runs >= maxRuns {
		return nil
	}
	before := len(s.report.Groups)
	unsplit := len(s.unsplit)
	if err := s.process(task{functions: functions, end: end, probeEnd: end, together: true, lifetimes: true, limit: maxHang}); err != nil {
		return err
	}
	s.unsplit = s.unsplit[:unsplit]
	for i := before; i < len(s.report.Groups) && s.report.Broken == ""; i++ {
		e := s.report.Groups[i]
		if slices.ContainsFunc(s.roots(&e), func(string) bool { return true }) {
			if err := s.split(&e, end); err != nil {
				return err
			}
		}
	}
	return nil
}

// again explores the only function of a group once more, with what it hands out counted.
func (s *state) again(e *Exploration, end time.Time) error {
	before := len(s.report.Groups)
	if err := s.part(e.Functions, end); err != nil {
		return err
	}
	if len(s.report.Groups) > before {
		s.report.Groups = slices.DeleteFunc(s.report.Groups, func(g Exploration) bool { return g.Folder == e.Folder && slices.Equal(g.Functions, e.Functions) })
	}
	return nil
}

// splitTest explores the subtests of a group's only function as if they were functions. Each call
// of the test runs one subtest and leaves out the others.
func (s *state) splitTest(e *Exploration, roots []string, end time.Time) error {
	test := e.Functions[0]
	subtests := s.subtests[test]
	if len(subtests) < 2 || len(roots) == 0 {
		return nil
	}
	whole := Exploration{Record: e.Record, Lifetimes: e.Lifetimes}
	for _, name := range subtests {
		name = test + "/" + name
		whole.Functions = append(whole.Functions, name)
		s.tried[name] = &Tried{Name: name}
	}
	for _, root := range roots {
		s.located[root] = false
	}
	err := s.split(&whole, end)
	for _, root := range roots {
		s.located[root] = true
	}
	return err
}
