package calls

import (
	"bytes"
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
)

// A clock is the time that operations and waits take.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Unix(1, 0)} }

func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

// setup returns a Setup whose op takes a time, with a budget if left is not 0.
func (c *clock) setup(op func(), left time.Duration) *Setup {
	now := func() time.Time { return c.now }
	s := &Setup{
		Op: NewOp(op, func() bool { return false }, now), Time: environ.Budget{Now: now}, Test: "Test", Sleep: c.pass,
		AwaitIdle: func(func() bool) bool { return true }, TimerWait: 2 * time.Second, TimersPerCall: 0.01,
		Note: func(string) {}, Said: &strings.Builder{},
	}
	if left > 0 {
		s.Time.End = c.now.Add(left)
	}
	return s
}

func TestOp(t *testing.T) {
	c, called, fails := newClock(), 0, math.MaxInt
	op := NewOp(func() { called++; c.pass(time.Second) }, func() bool { return called >= fails }, func() time.Time { return c.now })
	assert.Equal(t, time.Second, op.Once())
	op.Times(3)
	assert.Equal(t, 4, called)
	assert.Equal(t, 5, op.Repeat(5, nil))
	assert.Equal(t, 0, op.Repeat(0, nil))
	assert.Equal(t, 1, op.Repeat(5, func() bool { return false }))
	assert.Equal(t, 10, called)
	fails = 12
	assert.False(t, op.Failed())
	assert.Equal(t, 2, op.Repeat(5, func() bool { return true }))
	assert.True(t, op.Failed())
}

func TestCost(t *testing.T) {
	var c Cost
	assert.Equal(t, time.Duration(0), c.Usual())
	c.Add(time.Second)
	assert.Equal(t, time.Second, c.Usual())
	for range 9 {
		c.Add(100)
	}
	assert.Equal(t, time.Duration(100), c.Usual(), "without the slowest")
	assert.Equal(t, time.Duration(127), c.Median(), "up to twice as much")
	assert.Equal(t, int64(10), c.Calls)
	assert.Equal(t, time.Second+900, c.Spent)
}

// The warm-up makes as many calls as the first batch has, unless op is slow.
func TestWarmUp(t *testing.T) {
	for _, tt := range []struct {
		op           time.Duration
		w            WarmUp
		batch, calls int
	}{
		{0, WarmUp{}, MaxBatch, MaxBatch},
		{time.Millisecond, WarmUp{}, 25, 25},
		{20 * time.Millisecond, WarmUp{}, MinBatch, 2},
		{time.Second, WarmUp{}, 2, 2},
		{0, WarmUp{Batch: 7}, 7, 7},
		{0, WarmUp{Batch: 1}, 1, 2},
		{0, WarmUp{Calls: 1, Batch: 9}, 9, 1},
		{time.Second, WarmUp{Calls: 10}, 2, 10},
	} {
		c := newClock()
		r := NewRunner(c.setup(func() { c.pass(tt.op) }, 0))
		tt.w.Parts = 6
		assert.Equal(t, tt.batch, r.WarmUp(tt.w), tt)
		assert.Equal(t, int64(tt.calls), r.Calls, tt)
	}
}

// All of the warm-up uses no more than one part of the room below limits, however many calls it is
// to have.
func TestWarmUpLeavesRoom(t *testing.T) {
	w := WarmUp{Parts: 6}
	assert.Equal(t, 2, w.more(1000, 2, math.MaxInt))
	called, room := 2, 398
	for k := 1; k > 0; called, room = called+k, room-k {
		k = max(0, w.more(1000, called, room))
	}
	assert.Equal(t, 66, called)
	assert.True(t, w.more(1000, 100, 300) <= 0, "op is slower to use the room at first")
}

// Where calls leave much work to other goroutines, the first batch is smaller.
func TestWarmUpOfLaterWork(t *testing.T) {
	c := newClock()
	s := c.setup(func() {}, 0)
	s.AwaitIdle = func(func() bool) bool { c.pass(60 * time.Millisecond); return true }
	r := NewRunner(s)
	assert.Equal(t, 3, r.WarmUp(WarmUp{Parts: 6}))
	assert.Equal(t, int64(2), r.Calls)
	assert.Equal(t, 120*time.Millisecond, r.Spent, "waits count")
}

func TestEnd(t *testing.T) {
	c := newClock()
	r := NewRunner(c.setup(func() { c.pass(time.Second) }, 10*time.Second))
	r.Keep(3 * time.Second)
	passed := 0
	r.Call(20, func() { passed++ })
	assert.Equal(t, Late, r.End())
	assert.Equal(t, 6, passed, "a call and what follows it would take four seconds")
	r.Call(1, nil)
	assert.Equal(t, int64(6), r.Calls)
	r.Resume(2)
	assert.False(t, r.Ended())
	assert.Equal(t, int64(2), r.Calls)

	fails := false
	s := c.setup(func() { fails = true }, 0)
	s.Op.failed = func() bool { return fails }
	r = NewRunner(s)
	r.Batch(5, func() { r.Call(5, nil) })
	assert.Equal(t, Failed, r.End())
	assert.Equal(t, int64(1), r.Calls)
	assert.Equal(t, int64(0), r.Current())
	assert.NoError(t, r.Short())
}

// A batch ends when the timers have fired that its calls have set.
func TestAwaitTimers(t *testing.T) {
	for _, tt := range []struct {
		name           string
		set            []Timer // by the calls; In is from then on
		before, shared bool    // set before the first call; batches end after timers for many calls
		left           time.Duration
		waited         time.Duration
		end            End
	}{
		{name: "none"},
		{name: "one, by chance", set: []Timer{{In: time.Second}}},
		{name: "two", set: []Timer{{In: time.Second}, {In: time.Second / 2}}, waited: time.Second},
		{name: "from before", set: []Timer{{In: time.Second}, {In: time.Second / 2}}, before: true},
		{name: "tickers", set: []Timer{{In: time.Second, Repeats: true}, {In: time.Second, Repeats: true}}},
		{name: "far", set: []Timer{{In: time.Hour}, {In: time.Hour}}},
		{name: "no time", set: []Timer{{In: time.Second}, {In: time.Second}}, left: time.Second},
		{name: "shared", set: []Timer{{In: 5 * time.Second}}, shared: true, waited: 5 * time.Second},
		{name: "shared, no time", set: []Timer{{In: 5 * time.Second}}, shared: true, left: 4 * time.Second, end: Late},
	} {
		c := newClock()
		var set []Timer
		var at time.Time
		add := func() { set, at = tt.set, c.now }
		s := c.setup(func() {}, tt.left)
		s.Timers = func(_ context.Context, visit func(Timer)) {
			for _, timer := range set {
				if timer.In -= c.now.Sub(at); timer.In >= 0 {
					visit(timer)
				}
			}
		}
		if tt.before {
			add()
		}
		r := NewRunner(s)
		r.NoteTimers(tt.shared)
		add()
		r.AwaitTimers(10)
		w := r.TimerWaits()
		assert.Equal(t, tt.waited, w.Waited, tt.name)
		assert.Equal(t, tt.end, r.End(), tt.name)
		assert.Equal(t, tt.shared, w.Shared, tt.name)
		assert.False(t, w.GaveUp, tt.name)
	}
}

// Timers that are set one after the other are given up. A timer that was set before the first call
// may work for many calls.
func TestTimersForManyCalls(t *testing.T) {
	c := newClock()
	s := c.setup(func() {}, 0)
	busy := false
	s.Timers = func(_ context.Context, visit func(Timer)) {
		visit(Timer{Address: 7, In: 4 * time.Second})
		if busy {
			visit(Timer{In: 900 * time.Millisecond})
			visit(Timer{In: 900 * time.Millisecond})
		}
	}
	r := NewRunner(s)
	r.NoteTimers(false)
	busy = true
	r.AwaitTimers(10)
	w := r.TimerWaits()
	assert.True(t, w.GaveUp)
	assert.Equal(t, 1800*time.Millisecond, w.Waited)
	assert.Equal(t, 900*time.Millisecond, w.Next)
	assert.False(t, r.SharesTimers())
	assert.True(t, r.AwaitShared(), "the timer from before")
	assert.Equal(t, 5800*time.Millisecond, r.TimerWaits().Waited)
	r.ShareTimers()
	assert.Equal(t, FarTimer, r.TimerWaits().Next, "all are waited for")
}

// Goroutines that run without an end are noted once.
func TestRestless(t *testing.T) {
	c := newClock()
	var notes []string
	s := c.setup(func() {}, 0)
	s.AwaitIdle = func(over func() bool) bool { return over() }
	s.Note = func(note string) { notes = append(notes, note) }
	s.Elsewhere = true
	r := NewRunner(s)
	r.Call(1, nil)
	r.Call(1, nil)
	assert.Equal(t, 1, len(notes), notes)

	// The goroutine that has started the test runs on for a moment, before it waits for the end.
	for stacks := make([]byte, 1<<16); !bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("goroutine 1 [chan receive")); {
		runtime.Gosched()
	}
	notes, s.Elsewhere = nil, false
	begun, done := make(chan bool), make(chan bool, 1)
	go func() {
		close(begun)
		for len(done) == 0 {
		}
	}()
	defer func() { done <- true }()
	<-begun
	for r = NewRunner(s); len(notes) == 0; { // until it is seen to run
		r.Call(1, nil)
	}
	assert.Contains(t, notes[0], "TestRestless")
}

// What piles up is said once, if two looks in a row have found it, and only when it is asked to be.
func TestPilesUp(t *testing.T) {
	looks := func(s *Limits, descriptors ...int64) {
		for i, n := range descriptors {
			var grown ledger.ByUse
			grown[ledger.Descriptors] = n
			s.note(int64(10*(i+1)), &grown)
		}
	}
	said := new(strings.Builder)
	pile := func() *Limits {
		said.Reset()
		return &Limits{setup: &Setup{Test: "Test", Said: said}, cost: new(Cost), before: stock{goroutines: -10}}
	} // goroutines stand for all
	for _, tt := range []struct {
		name  string
		looks []int64
		said  bool
	}{
		{"with each call", []int64{10, 20, 30}, true},
		{"once", []int64{10, 20}, false},
		{"no more", []int64{10, 20, 20}, false},
		{"slower", []int64{10, 20, 29}, false},
		{"at first only", []int64{30, 31, 32}, false},
		{"one look", []int64{10}, false},
	} {
		s := pile()
		looks(s, tt.looks...)
		assert.Equal(t, "", said.String(), "until it is to be said: "+tt.name)
		s.Say()
		assert.Equal(t, tt.said, said.Len() > 0, tt.name)
		if tt.said {
			assert.Contains(t, said.String(), "leakcheck: Test: after 30 calls of op, ")
			looks(s, 40, 50, 60, 70)
			s.Say()
			assert.Equal(t, 1, strings.Count(said.String(), "said now"), tt.name)
		}
	}
}

func TestNoLimitsBeforeTheFirstCall(t *testing.T) {
	c := newClock()
	s := c.setup(func() {}, 0)
	s.Resources = true
	r := NewRunner(s)
	assert.Equal(t, math.MaxInt, r.Room())
	assert.NoError(t, r.LimitMet())
	r.Measure()()
	r.Say()
	assert.Equal(t, "", s.Said.(*strings.Builder).String())
	assert.Contains(t, r.NoRoom().Error(), "op meets a limit of the system: too little is left")
	r.pending = "after 3 calls of op, much"
	r.Say()
	r.Say()
	assert.Equal(t, "leakcheck: Test: after 3 calls of op, much (said now in case that op ends the process)\n", s.Said.(*strings.Builder).String())
}

// A call that does not return is heard of, once.
func TestStuck(t *testing.T) {
	defer func(d time.Duration) { StuckAfter = d }(StuckAfter)
	StuckAfter = 15 * time.Millisecond
	c := newClock()
	heard, let := make(chan *Stuck, 2), make(chan bool, 1)
	s := c.setup(func() { <-let }, 0)
	s.Stuck = func(s *Stuck) { heard <- s }
	r := NewRunner(s)
	let <- true // the first call returns at once
	go func() {
		stuck := <-heard
		heard <- stuck
		let <- true
	}()
	r.Call(2, nil)
	stuck := <-heard
	assert.Equal(t, int64(2), stuck.Call)
	assert.Equal(t, StuckAfter, stuck.Since)
	assert.True(t, strings.HasPrefix(stuck.Header, "goroutine "), stuck.Header)
	let <- true
	r.Call(1, nil)
	assert.Equal(t, 0, len(heard))
	assert.True(t, IsOp("github.com/leakgate/leakgate/leakcheck/internal/calls.(*Op).Once"))
	assert.False(t, IsOp("example.com/app.(*Op).Once"))
}

// A panic of op passes through, and leaves the number of its call.
func TestPanics(t *testing.T) {
	c := newClock()
	wanted := errors.New("op's own")
	r := NewRunner(c.setup(func() { panic(wanted) }, 0))
	defer func() {
		assert.Equal(t, any(wanted), recover())
		assert.Equal(t, int64(1), r.Current())
	}()
	r.Call(3, nil)
}
