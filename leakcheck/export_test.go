package leakcheck

import (
	"time"

	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/growth"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/refscan"
)

// A countingSnapshot counts what is read of a snapshot.
type countingSnapshot struct {
	observe.Frozen
	reads map[string]int
}

func (s countingSnapshot) Scan(opts ...refscan.ScanOption) (*refscan.Report, error) {
	s.reads["scans"]++
	return s.Frozen.Scan(opts...)
}

func (s countingSnapshot) Stacks() (*refscan.Stacks, error) {
	s.reads["stacks"]++
	return s.Frozen.Stacks()
}

func (s countingSnapshot) LeakedGoroutines() ([]*refscan.LeakedGoroutine, error) {
	s.reads["leaked"]++
	return s.Frozen.LeakedGoroutines()
}

func (s countingSnapshot) Elsewhere(of refscan.Query, is func(path, typ string) bool) (*refscan.Elsewhere, error) {
	s.reads["elsewhere"]++
	return s.Frozen.Elsewhere(of, is)
}

// AssertRetainedCounting is AssertRetained, and counts what is read of snapshots.
func AssertRetainedCounting(t TestingT, reads map[string]int, opts ...Option) bool {
	world := assertion.ThisProcess()
	world.Observe = (&observe.Engine{Capture: func(opts ...refscan.CaptureOption) (observe.Frozen, error) {
		s, err := observe.Capture(opts...)
		reads["snapshots"]++
		return countingSnapshot{s, reads}, err
	}}).Observe
	return world.AssertRetained(t, environ.Site{}, newRequest(opts))
}

// AssertNoGrowthAsleep is AssertNoGrowth, and sleeps otherwise.
func AssertNoGrowthAsleep(t TestingT, op func(), sleep func(time.Duration), opts ...GrowthOption) bool {
	world := assertion.ThisProcess()
	world.Sleep = sleep
	return growth.AssertNoGrowth(world, t, environ.CallSite(1), op, newGrowthRequest(op, opts), growth.ThisProcess())
}
