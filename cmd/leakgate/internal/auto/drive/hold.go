package drive

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/repeat"
)

// hold explores the loops of benchmarks in the time that is left. It uses one process, and another
// after each that a benchmark ends.
func (s *state) hold(benchmarks []string) error {
	tried := make(map[string]*Tried)
	for {
		var left []string
		for _, name := range benchmarks {
			if tried[name] == nil {
				left = append(left, name)
			}
		}
		if len(left) == 0 || s.runs >= maxRuns || time.Until(s.end) < minLeft {
			break
		}
		p, o, err := s.holdIn(left)
		if err != nil {
			return err
		}
		for i := range p.tried {
			tried[p.tried[i].Name] = &p.tried[i]
		}
		for _, h := range p.held {
			e := Exploration{Functions: []string{h.Function}}
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
			continue
		case p.hung != "":
			tried[p.hung] = &Tried{Name: p.hung, Status: repeat.Hangs, Took: p.hungFor}
		case tried[culprit] == nil && culprit != "":
			tried[culprit] = &Tried{Name: culprit, Status: repeat.Ended, Reason: p.exit + "\n" + p.lastOutput()}
		}
		if len(p.tried) == 0 && p.hung == "" && culprit == "" {
			break // the process reaches no benchmark
		}
	}
	for _, name := range benchmarks {
		t := Tried{Name: name, Status: repeat.OutOfTime}
		if tried[name] != nil {
			t = *tried[name]
		}
		s.report.Benchmarks = append(s.report.Benchmarks, t)
	}
	return nil
}

// holdIn runs one process that explores the loops of benchmarks.
func (s *state) holdIn(benchmarks []string) (*process, *repeat.Orders, error) {
	s.runs++
	folder := filepath.Join(s.Folder, fmt.Sprintf("run-%d", s.runs))
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, nil, err
	}
	o := &repeat.Orders{
		Journal: filepath.Join(folder, "journal"), Benchmarks: benchmarks, Parent: os.Getpid(), Hangs: s.hangs(),
		Artifacts: filepath.Join(folder, "records"), End: s.end, ProbeEnd: s.end.Add(-minLeft),
	}
	p, err := s.start(o, folder)
	if err == nil {
		err = s.ctx.Err()
	}
	return p, o, err
}
