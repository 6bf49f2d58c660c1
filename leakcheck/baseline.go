package leakcheck

import "github.com/leakgate/leakgate/refscan"

// A Baseline is what was retained at one moment, as figures per path and type, and what goroutines there
// were: nothing in it keeps the program's own memory alive. It may be used by several assertions.
type Baseline struct {
	forest  forest
	heap    string // the heap profile of that moment, "" if no artifacts are kept
	live    int64  // bytes
	unknown error  // why nothing is known

	goroutines census
}

// TakeBaseline snapshots the process, for Since. It costs what one assertion costs.
//
// Where no snapshot can be had, assertions that use the baseline have the verdict unknown.
func TakeBaseline(t TestingT) *Baseline {
	if t == nil {
		return &Baseline{unknown: errNoTest}
	}
	t.Helper()
	return thisProcess().takeBaseline(t)
}

func (c *checker) takeBaseline(t TestingT) *Baseline {
	t.Helper()
	b := &Baseline{}
	obs, err := c.observe(c.environment().keepsFiles(), b.countGoroutines)
	if err == nil {
		err = (&request{}).named(obs.report)
	}
	if err == nil {
		err = audit(obs.report)
	}
	if err != nil {
		t.Logf("leakcheck: no baseline: %v", err)
		return &Baseline{unknown: err}
	}
	b.forest, b.heap, b.live = growForest(obs.report), obs.heap, obs.report.Totals.LiveBytes
	return b
}

func (b *Baseline) countGoroutines(s *refscan.Snapshot) error {
	stacks, err := s.Stacks()
	if err == nil {
		b.goroutines = takeCensus(stacks.Goroutines)
	}
	return err
}
