package drive

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/repeat"
)

// hold explores the loops of benchmarks until end. It uses one process, and another after each that
// a benchmark ends.
func (s *state) hold(benchmarks []string, end time.Time) error {
	for {
		var left []string
		for _, name := range benchmarks {
			if s.held[name] == nil {
				left = append(left, name)
			}
		}
		if len(left) == 0 || s.isOver(end) {
			break
		}
		p, o, err := s.holdIn(left, end)
		if err != nil {
			return err
		}
		for i, t := range p.tried {
			if t.Status != repeat.OutOfTime {
				s.held[t.Name] = &p.tried[i]
			}
		}
		for _, h := range p.held {
			e := Exploration{Functions: []string{h.Function}, Lifetimes: h.Lifetimes}
			e.Record, e.Folder, err = readRecord(o.Artifacts, h.Label)
			if err == nil {
				s.report.Held = append(s.report.Held, e)
			}
		}
		culprit := p.output.function
		switch {
		case p.journalFailed:
			return nil // the benchmarks are named as not tried
		case p.ended:
			return nil
		case slices.ContainsFunc(p.held, func(e repeat.Event) bool { return e.Function == p.hung }):
			// Its loop was repeated. It hangs since the loop was ended: its deferred functions wait
			// for what follows the loop.
			s.held[p.hung] = &Tried{Name: p.hung, Status: repeat.OK}
		case p.hung != "":
			s.held[p.hung] = &Tried{Name: p.hung, Status: repeat.Hangs, Took: p.hungFor}
		case s.held[culprit] == nil && culprit != "":
			s.held[culprit] = &Tried{Name: culprit, Status: repeat.Ended, Reason: p.exit + "\n" + p.lastOutput()}
		}
		if len(p.tried) == 0 && p.hung == "" && culprit == "" {
			break // the process reaches no benchmark
		}
	}
	return nil
}

// holdIn runs one process that explores the loops of benchmarks until end.
func (s *state) holdIn(benchmarks []string, end time.Time) (*process, *repeat.Orders, error) {
	s.runs++
	folder := filepath.Join(s.Folder, fmt.Sprintf("run-%d", s.runs))
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, nil, err
	}
	o := &repeat.Orders{
		Journal: filepath.Join(folder, "journal"), Benchmarks: benchmarks, Parent: pid, Hangs: s.hangs(), Lifetimes: true,
		Artifacts: filepath.Join(folder, "records"), End: end, ProbeEnd: end.Add(-minLeft),
	}
	s.say("repeating the loops of", len(benchmarks), "benchmark")
	p, err := s.start(o, folder, 0)
	if err == nil {
		s.report.Cut = s.report.Cut || !p.ended
		err = s.ctx.Err()
	}
	return p, o, err
}
