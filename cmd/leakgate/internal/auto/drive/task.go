package drive

import (
	"fmt"
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
		o.Functions = append(o.Functions, repeat.Function{Name: name, Took: s.tried[name].Took, Lingers: s.tried[name].Lingers, Limit: limit})
	}
	return o
}

// process runs one process, notes what it finds out, and returns the groups that have a verdict. A
// function that ends the process, or does not return, has a status then; the others of its group
// have no verdict yet.
func (s *state) process(t task) ([]Exploration, error) {
	s.mu.Lock()
	s.runs++
	label := fmt.Sprintf("run-%d", s.runs)
	folder := filepath.Join(s.Folder, label)
	o := s.orders(&t, folder, label)
	s.say("repeating", len(t.functions), "function")
	s.mu.Unlock()
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	p, err := s.start(o, folder, t.slot)
	if err != nil {
		return nil, err
	}
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.Cut = s.report.Cut || !p.ended
	for i := range p.tried {
		tried := &p.tried[i]
		if tried.Took == 0 && s.tried[tried.Name] != nil {
			tried.Took, tried.Lingers = s.tried[tried.Name].Took, s.tried[tried.Name].Lingers
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
	var explored []Exploration
	for _, g := range p.groups {
		if e := s.take(&g, o); e != nil {
			explored = append(explored, *e)
		}
	}
	s.fate(p, &t)
	return explored, nil
}

// take adds a group that was explored to its end to the report, unless nothing is known of it and
// there is time to look again.
func (s *state) take(g *group, o *repeat.Orders) *Exploration {
	e := &Exploration{Functions: g.functions, Lifetimes: g.lifetimes}
	var err error
	e.Record, e.Folder, err = readRecord(o.Artifacts, g.label)
	if e.Record == nil {
		e.Reason = g.log
		if err != nil && e.Reason == "" {
			e.Reason = err.Error()
		}
		if strings.Contains(g.log, syscall.ENOSPC.Error()) {
			s.noRoom("there was no room for what leakcheck found: " + syscall.ENOSPC.Error())
			return nil
		}
	}
	if e.isBlind() && o.End.Before(s.end) {
		return nil
	}
	for _, name := range g.functions {
		s.explored[name] = true
	}
	s.report.Groups = append(s.report.Groups, *e)
	return e
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
func (s *state) roots(e *Exploration) []Root {
	if e.Record == nil || e.Record.Verdict != "fail" {
		return nil
	}
	s.judging.Lock()
	defer s.judging.Unlock()
	return s.RootsToSplit(e)
}

// splitAll splits the groups in which something grows, until end: several at a time, in the order
// in which they were explored.
func (s *state) splitAll(end time.Time) error {
	todo := s.unsplit
	s.unsplit = nil
	return beside(max(1, s.Beside), todo, func(slot int, g growing) error {
		if s.isOver(end) {
			s.mu.Lock()
			s.unsplit = append(s.unsplit, g)
			s.mu.Unlock()
			return nil
		}
		return s.split(g, end, slot)
	})
}

// split explores parts of a group while a root grows in it that no single function is known to
// feed. Then it counts what functions hand out and end, which matters where something grows.
func (s *state) split(g growing, end time.Time, slot int) error {
	if len(g.Functions) == 1 {
		if g.Lifetimes == nil {
			return s.again(g.Exploration, end, slot)
		}
		s.locate(g.roots, true)
		return s.splitTest(g, end, slot)
	}
	open := s.unlocated(g.roots)
	if len(open) == 0 {
		return nil
	}
	named, parts := partsOf(g.Exploration, open)
	for i, part := range parts {
		if named && len(s.unlocated(g.roots)) == 0 {
			s.mu.Lock()
			s.fedByOthers = append(s.fedByOthers, parts[i:]...)
			s.mu.Unlock()
			return nil
		}
		if _, err := s.part(part, end, slot); err != nil {
			return err
		}
	}
	return nil
}

// locate notes whether a single function is known to feed each of some roots.
func (s *state) locate(roots []Root, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, root := range roots {
		s.located[root.Name] = is
	}
}

// unlocated returns the roots that no single function is known to feed.
func (s *state) unlocated(roots []Root) []Root {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(roots), func(r Root) bool { return s.located[r.Name] })
}

// partsOf divides a group. If the stacks that make roots grow name a few of its functions, each of
// these is a part, and so are the others together; otherwise its halves are.
func partsOf(e *Exploration, roots []Root) (named bool, parts [][]string) {
	const few = 4
	var others []string
	for _, name := range e.Functions {
		if slices.ContainsFunc(roots, func(r Root) bool { return slices.Contains(r.Functions, name) }) {
			parts = append(parts, []string{name})
		} else {
			others = append(others, name)
		}
	}
	if n := len(parts); n > 0 && n <= few && len(others) > 0 {
		return true, append(parts, others)
	}
	half := len(e.Functions) / 2
	return false, [][]string{e.Functions[:half], e.Functions[half:]}
}

// splitOthers explores the parts of groups that were left out, since a function is known that feeds
// their roots: these may feed them, too.
func (s *state) splitOthers(end time.Time) error {
	todo := s.fedByOthers
	s.fedByOthers = nil
	return beside(max(1, s.Beside), todo, func(slot int, part []string) error {
		_, err := s.part(part, end, slot)
		return err
	})
}

// part explores a part of a group, splits it if something grows in it, and returns what it found
// out about the whole part.
func (s *state) part(functions []string, end time.Time, slot int) ([]Exploration, error) {
	if s.isOver(end) {
		return nil, nil
	}
	explored, err := s.process(task{functions: functions, end: end, probeEnd: end, together: true, lifetimes: true, limit: maxHang, slot: slot})
	if err != nil {
		return nil, err
	}
	for i := range explored {
		if roots := s.roots(&explored[i]); len(roots) > 0 {
			if err := s.split(growing{&explored[i], roots}, end, slot); err != nil {
				return nil, err
			}
		}
	}
	return explored, nil
}

// again explores the only function of a group once more, with what it hands out counted.
func (s *state) again(e *Exploration, end time.Time, slot int) error {
	explored, err := s.part(e.Functions, end, slot)
	if len(explored) > 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.report.Groups = slices.DeleteFunc(s.report.Groups, func(g Exploration) bool { return g.Folder == e.Folder && slices.Equal(g.Functions, e.Functions) })
	}
	return err
}

// splitTest explores the subtests of a group's only function as if they were functions. Each call
// of the test runs one subtest and leaves out the others.
func (s *state) splitTest(g growing, end time.Time, slot int) error {
	whole := Exploration{Record: g.Record, Lifetimes: g.Lifetimes}
	s.mu.Lock()
	for _, name := range s.subtests[g.Functions[0]] {
		whole.Functions = append(whole.Functions, g.Functions[0]+"/"+name)
	}
	if len(whole.Functions) < 2 || len(g.roots) == 0 {
		s.mu.Unlock()
		return nil
	}
	for _, name := range whole.Functions {
		s.tried[name] = &Tried{Name: name}
	}
	s.mu.Unlock()
	s.locate(g.roots, false)
	defer s.locate(g.roots, true)
	return s.split(growing{&whole, g.roots}, end, slot)
}
