package assertion

import (
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/reporttest"
	"github.com/leakgate/leakgate/refscan"
)

// Timers are waited for that are about to fire: not tickers, nor those that are far.
func TestPendingTimers(t *testing.T) {
	timer := func(first, last, period time.Duration) refscan.RootInfo {
		return refscan.RootInfo{Kind: refscan.RootTimer, DueFirst: first, DueLast: last, Period: period}
	}
	for name, c := range map[string]struct {
		roots []refscan.RootInfo
		wait  time.Duration
	}{
		"soon":              {[]refscan.RootInfo{timer(time.Second, time.Second, 0)}, 1100 * time.Millisecond},
		"the last of all":   {[]refscan.RootInfo{timer(time.Second, 1500*time.Millisecond, 0), timer(time.Second, time.Second, 0)}, 1600 * time.Millisecond},
		"some far":          {[]refscan.RootInfo{timer(time.Second, time.Hour, 0)}, 2100 * time.Millisecond},
		"all far":           {[]refscan.RootInfo{timer(2*time.Second+1, time.Hour, 0)}, 0},
		"just near enough":  {[]refscan.RootInfo{timer(2*time.Second, 2*time.Second, 0)}, 2100 * time.Millisecond},
		"overdue":           {[]refscan.RootInfo{timer(-time.Second, -time.Second, 0)}, 100 * time.Millisecond},
		"tickers":           {[]refscan.RootInfo{timer(time.Second, time.Second, time.Second)}, 0},
		"of another clock":  {[]refscan.RootInfo{timer(0, 0, 0)}, 0},
		"another root":      {[]refscan.RootInfo{{Kind: refscan.RootGlobal, DueFirst: 1, DueLast: 1}}, 0},
		"no timer whatever": {nil, 0},
	} {
		var p PendingTimers
		for i := range c.roots {
			p.Add("timer(gopkg.in/yaml%2ev3.expire)", &c.roots[i])
		}
		assert.Equal(t, c.wait, p.wait, name)
		if c.wait > 0 {
			assert.Equal(t, []string{"timer(gopkg.in/yaml.v3.expire)"}, p.names, name)
		}
	}
	assert.Equal(t, "waited 1.1s for timers that were about to fire: a, b", PendingTimers{1101 * time.Millisecond, []string{"a", "b"}}.String())
}

// The last snapshot waits for timers whose objects are too many, if there is time for that.
func TestWaitForTimers(t *testing.T) {
	pending := reporttest.Node("timer(context.WithTimeout)", "", 0, 0, reporttest.Node("$timer", "*time.Timer", 1, 112))
	pending.Root = &refscan.RootInfo{Kind: refscan.RootTimer, Package: "context", Timers: 1, DueFirst: time.Second, DueLast: time.Second}
	with, without := reporttest.Report(pending, reporttest.Sessions(1)), sessions(1)
	for name, c := range map[string]struct {
		reports []*refscan.Report
		timeout time.Duration
		passes  bool
		slept   time.Duration
		log     string
	}{
		"fired":            {[]*refscan.Report{with, with, without}, 0, true, 1200 * time.Millisecond, "waited 1.1s for timers that were about to fire: timer(context.WithTimeout)"},
		"still pending":    {[]*refscan.Report{with}, 0, false, 1200 * time.Millisecond, ""},
		"fired at once":    {[]*refscan.Report{with, without}, 0, true, 100 * time.Millisecond, ""},
		"no time to wait":  {[]*refscan.Report{with, with, without}, 1500 * time.Millisecond, true, 500 * time.Millisecond, ""},
		"others are there": {[]*refscan.Report{with}, time.Minute, false, 1200 * time.Millisecond, ""},
	} {
		w := newWorld(t, c.reports...)
		ft := &fakeT{name: "TestX", timeout: c.timeout}
		o := w.begin(ft, atMost(0, "timer(context.WithTimeout)")).Judge()
		assert.Equal(t, c.passes, !o.Failed() && o.Err == nil, "%s: %s", name, o.Message)
		assert.Equal(t, c.slept, w.slept, name)
		if c.log != "" {
			assert.Equal(t, c.log, o.Notes[0], name)
		}
	}
}
