package growth

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/calls"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

// The log says how long timers were waited for, and of a pass which were not.
func TestTimerNotes(t *testing.T) {
	const far, near = calls.FarTimer, calls.MaxSharedWait
	for name, c := range map[string]struct {
		waits calls.TimerWaits
		pass  bool
		want  []string // parts of notes
	}{
		"nothing":             {calls.TimerWaits{Next: far}, true, nil},
		"short":               {calls.TimerWaits{Waited: calls.BatchTime - 1, Next: far}, true, nil},
		"long":                {calls.TimerWaits{Waited: calls.BatchTime + 1, Next: far}, false, []string{"waited " + rounded(calls.BatchTime+1) + " for timers"}},
		"gave up":             {calls.TimerWaits{GaveUp: true, Next: far}, true, []string{"op sets timers that take more than 2s, one after the other"}},
		"gave up, and fails":  {calls.TimerWaits{GaveUp: true, Next: far}, false, nil},
		"due":                 {calls.TimerWaits{Next: near}, true, []string{"a timer or a ticker is due in " + rounded(near) + ": if it does work then that calls of op have left to it, this does not count; Full waits for it"}},
		"due later":           {calls.TimerWaits{Next: near + 1}, true, []string{"; let op wait for it"}},
		"due, and was shared": {calls.TimerWaits{Next: near, Shared: true}, true, []string{"; let op wait for it"}},
		"due, and fails":      {calls.TimerWaits{Next: near}, false, nil},
		"all":                 {calls.TimerWaits{Waited: time.Minute, GaveUp: true, Next: time.Second}, true, []string{"waited 1m0s", "op sets timers", "is due in 1s"}},
	} {
		notes := timerNotes(c.waits, c.pass)
		assert.Len(t, notes, len(c.want), name)
		for i, part := range c.want {
			assert.Contains(t, notes[i], part, name)
		}
	}
}

// An other is another process.
type other struct {
	request.Process
	idle bool
}

func (o *other) String() string { return "process 7" }

func (o *other) Goroutines(func(string) bool) map[goroutine.Origin]goroutine.Pile {
	return map[goroutine.Origin]goroutine.Pile{{Entry: "main.main"}: {Count: 1}}
}

func (o *other) Timers(_ context.Context, visit func(proof.Timer)) {
	visit(proof.Timer{Address: 7, In: time.Hour})
}

func (o *other) AwaitIdle(func() bool) bool { return o.idle }
func (o *other) Notes() []string            { return []string{"of process 7"} }

// What an experiment is about is this process, or another one, of which nothing is proved.
func TestSourceOf(t *testing.T) {
	s := SourceOf(nil)
	assert.True(t, s.Elsewhere == nil && s.Goroutines != nil && s.Objects != nil && s.Slices != nil && s.Timers != nil)
	o := &other{}
	s = SourceOf(o)
	assert.True(t, s.Elsewhere == o && s.Objects == nil && s.Slices == nil)
	assert.Len(t, s.Goroutines(nil), 1)
	for _, idle := range []bool{true, false} {
		o.idle = idle
		assert.Equal(t, idle, s.awaitIdle(func() bool { return true }))
	}
	var seen []calls.Timer
	s.timers()(t.Context(), func(timer calls.Timer) { seen = append(seen, timer) })
	assert.Equal(t, []calls.Timer{{Address: 7, In: time.Hour}}, seen)
	none := Source{}
	assert.True(t, none.timers() == nil)
}

// A verdict on another process has its notes, and its name in the message.
func TestElsewhere(t *testing.T) {
	for each, passes := range map[int64]bool{0: true, 1: false} {
		w := newWorld(t, leaks(each))
		w.source = SourceOf(&other{idle: true})
		ft := &fakeT{name: "TestX"}
		assert.Equal(t, passes, w.assert(ft, 0))
		assert.Contains(t, ft.logText(), "of process 7")
		assert.Equal(t, !passes, strings.Contains(ft.errorText(), "process 7"), ft.errorText())
	}
}
