package trial

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/calls"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/wording"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// A game is a trial whose steps have results that a test makes up.
type game struct {
	*testing.T
	req   request.Request
	sleep time.Duration // of the goroutines, 0 if they do not sleep
	op    time.Duration // how long a call takes
	room  int
	left  time.Duration

	// snapshot is the one after so many calls; at is its index, from 0 on.
	snapshot func(at int, calls int64) *finding.Snapshot
	result   func(at int, s Step, r *Result) // changes the result of a step, if it is not nil
}

var worker = goroutine.Origin{Entry: "example.com/app.work"}

// piled is a snapshot with so many goroutines.
func piled(calls, n int64, sleep time.Duration) *finding.Snapshot {
	return &finding.Snapshot{
		Calls: calls, Eval: &check.Evaluation{Seen: &check.Seen{}},
		Goroutines: map[goroutine.Origin]goroutine.Pile{worker: {Count: n, Frames: 2 * n, Sleep: sleep, State: "select", Calls: []goroutine.Call{{Function: worker.Entry}}}},
	}
}

// play returns the steps of a trial, in words, and the trial.
func (g *game) play(batch, warmUp int) (string, *Trial) {
	g.Helper()
	finder := finding.Finder{History: &finding.History{Env: &environ.Environment{}}, Req: &g.req}
	t := &Trial{Wording: wording.Wording{Finder: finder, Each: 1}}
	cost := &calls.Cost{Last: g.op}
	call := func(n int) {
		for range n {
			cost.Add(g.op)
		}
	}
	call(warmUp)
	means := func() *Means {
		return &Means{
			Cost: cost, Left: func() time.Duration { return g.left },
			Room: func() int { return g.room - int(cost.Calls) },
		}
	}
	if g.left == 0 {
		g.left = endless
	}
	if g.room == 0 {
		g.room = math.MaxInt
	}
	var steps []string
	before := t
	t, step := t.Begin(g.snapshot(0, cost.Calls), batch, means())
	assert.Equal(g.T, 0, len(before.Snapshots))
	for at := 1; ; at++ {
		name := map[Action]string{
			Batch: "batch", Confirm: "confirm", Settle: "settle", Further: "further", Outlast: "outlast",
			OpFailed: "failed", OutOfTime: "late", NoRoom: "no room", CutShort: "cut short", Unknown: "unknown",
		}[step.Action]
		switch {
		case step.Action == Conclude && step.Judgement.Fails():
			name = "fails"
		case step.Action == Conclude && step.Judgement.Passes():
			name = "passes"
		case step.Action == Conclude && step.Judgement.Misuse:
			name = "misuse"
		case step.Action == Conclude:
			name = "unknown: " + step.Judgement.Err.Error()
		case step.Calls > 0:
			name = fmt.Sprint(name, " ", step.Calls)
		}
		steps = append(steps, name)
		if step.Action >= Conclude {
			return strings.Join(steps, ", "), t
		}
		if at > 30 {
			g.Fatal("no end: ", steps)
		}
		call(step.Calls)
		if step.Action != Settle {
			t.Batches = append(t.Batches, step.Calls)
		}
		r := Result{Snapshot: g.snapshot(at, cost.Calls)}
		r.Snapshot.Settled = step.Action == Settle
		if g.result != nil {
			g.result(at, step, &r)
		}
		before, snapshots := t, len(t.Snapshots)
		t, step = t.Next(&r, means())
		again, same := before.Next(&r, means())
		assert.Equal(g.T, same.Action, step.Action, "the same result of the same trial")
		assert.Equal(g.T, len(again.Snapshots), len(t.Snapshots))
		assert.Equal(g.T, snapshots, len(before.Snapshots), "a trial does not change")
	}
}

// of plays a series of goroutines, by snapshot. The last figure goes on.
func (g *game) of(figures ...int64) (string, *Trial) {
	g.Helper()
	g.snapshot = func(at int, calls int64) *finding.Snapshot {
		return piled(calls, figures[min(at, len(figures)-1)], g.sleep)
	}
	return g.play(10, 10)
}

const fourBatches = "batch 10, batch 20, batch 40, confirm 80, settle, "

// TestSteps plays the series of leakcheck.TestGrowthSeries, and some more.
func TestSteps(t *testing.T) {
	const someFurther, allFurther = "further 40, further 72, further 78, ", "further 40, further 72, further 78, further 73, further 80, further 75, further 77, further 72, further 79, "
	for _, tt := range []struct {
		name    string
		figures []int64
		want    string
	}{
		{"one a call", []int64{10, 20, 40, 80, 160, 160}, fourBatches + "fails"},
		{"five a call", []int64{50, 100, 200, 400, 800}, fourBatches + "fails"},
		{"every other call", []int64{5, 10, 20, 40, 80, 80, 100, 140, 180}, fourBatches + someFurther + "fails"},
		{"nothing", []int64{100, 100}, "batch 10, passes"},
		{"a cache that fills up", []int64{10, 20, 25, 25}, "batch 10, batch 20, passes"},
		{"a cache that fills up at last", []int64{10, 20, 40, 80, 100}, "batch 10, batch 20, batch 40, confirm 80, passes"},
		{"less", []int64{100, 90}, "batch 10, batch 20, passes"},
		{"behind what goes", []int64{60, 20, 40, 80, 160, 320}, "batch 10, batch 20, batch 40, batch 80, confirm 160, settle, fails"},
		{"ever less", []int64{100, 90, 80, 70, 60}, "batch 10, batch 20, batch 40, passes"},
		{"gone after a wait", []int64{10, 20, 40, 80, 160, 20}, fourBatches + "passes"},
		{"as many as in the largest batch", []int64{9, 10, 20, 40, 80, 80, 40, 79, 81}, fourBatches + someFurther + "passes"},
		{"as many, twice by chance", []int64{9, 10, 20, 40, 80, 80, 120, 160}, fourBatches + allFurther + "passes"},
		{"some end, one after another", []int64{10, 20, 40, 80, 160, 150}, fourBatches + "cut short"},
	} {
		g := game{T: t}
		steps, _ := g.of(tt.figures...)
		assert.Equal(t, tt.want, steps, tt.name)
	}
}

// What ends a batch, or keeps a snapshot from being taken, ends the trial, unless the verdict is
// known without it.
func TestEnds(t *testing.T) {
	leak := []int64{10, 20, 40, 80, 160, 160}
	half := []int64{5, 10, 20, 40, 80, 80, 100, 140, 180}
	none := errors.New("no snapshot")
	for _, tt := range []struct {
		name    string
		figures []int64
		at      int // the step with this result
		r       Result
		want    string
	}{
		{"op fails", leak, 2, Result{End: calls.Failed}, "batch 10, batch 20, failed"},
		{"no time", leak, 2, Result{End: calls.Late}, "batch 10, batch 20, late"},
		{"no snapshot", leak, 2, Result{Err: none}, "batch 10, batch 20, unknown"},
		{"no time to wait", leak, 5, Result{End: calls.Late}, fourBatches + "late"},
		{"no snapshot after the wait", leak, 5, Result{Err: none}, fourBatches + "unknown"},
		{"op fails in a further batch", half, 7, Result{End: calls.Failed}, fourBatches + "further 40, further 72, failed"},
		{"no time in a further batch", half, 6, Result{End: calls.Late}, fourBatches + "further 40, fails"},
		{"no snapshot after a further batch", half, 7, Result{Err: none}, fourBatches + "further 40, further 72, fails"},
	} {
		g := game{T: t, result: func(at int, _ Step, r *Result) {
			if at == tt.at {
				*r = tt.r
			}
		}}
		steps, _ := g.of(tt.figures...)
		assert.Equal(t, tt.want, steps, tt.name)
	}
}

// Without enough room below a limit, or time, there are fewer calls, or no further ones.
func TestScarceMeans(t *testing.T) {
	leak, half := []int64{10, 20, 40, 80, 160, 160}, []int64{5, 10, 20, 40, 80, 80, 100, 140, 180}
	g := game{T: t, room: 10}
	steps, _ := g.of(leak...)
	assert.Equal(t, "no room", steps)
	g = game{T: t, room: 14}
	steps, _ = g.of(leak...)
	assert.Equal(t, "batch 1, batch 1, batch 1, confirm 1, settle, fails", steps, "the figures grow, whatever the calls")
	g = game{T: t, room: 170}
	steps, _ = g.of(half...)
	assert.Equal(t, "batch 10, batch 20, batch 40, confirm 45, settle, further 23, fails", steps, "there is no room for more further batches")

	assert.Equal(t, 10, BelowLimits(0, 10, 50))
	assert.Equal(t, 8, BelowLimits(0, 10, 40))
	assert.Equal(t, 1, BelowLimits(0, 10, 3))
	assert.Equal(t, 0, BelowLimits(0, 10, 0))
	assert.Equal(t, 10, BelowLimits(9, 10, 12))

	m := Means{Cost: &calls.Cost{Calls: 11, Slowest: time.Second, Spent: 11 * time.Second}, Left: func() time.Duration { return endless }}
	assert.Equal(t, 100, affordable(100, 0, &m), "no timeout")
	m.Left = func() time.Duration { return 100 * time.Second }
	assert.Equal(t, 3, affordable(100, 0, &m), "15 batches of calls that may take twice as long")
	assert.Equal(t, 100, affordable(100, 100, &m), "the number is the user's")
	m.Left = func() time.Duration { return time.Second }
	assert.Equal(t, 1, affordable(100, 0, &m))
	assert.False(t, m.hasTimeFor(1))
}

// Timers that work for many calls have the trial begin anew, once, if part of the growth is gone
// when they have fired.
func TestSharedTimers(t *testing.T) {
	waited := func(_ int, s Step, r *Result) { r.Waited = s.Action == Settle }
	g := game{T: t, result: waited}
	steps, _ := g.of(10, 20, 40, 80, 160, 20, 20)
	assert.Equal(t, fourBatches+"batch 160, passes", steps)
	steps, last := g.of(10, 20, 40, 80, 160, 20, 180, 500, 1140, 2420, 2420)
	assert.True(t, last.Shared)
	assert.True(t, strings.HasPrefix(steps, fourBatches+"batch 160, batch 320, batch 640, confirm 1280, "), steps)
	assert.True(t, strings.HasSuffix(steps, "settle, fails"), steps)
	steps, last = g.of(10, 20, 40, 80, 160, 160)
	assert.Equal(t, fourBatches+"fails", steps, "nothing is gone")
	assert.False(t, last.Shared)
}

// Goroutines that sleep may be gone after a wait without calls.
func TestOutlast(t *testing.T) {
	for _, tt := range []struct {
		name    string
		figures []int64
		want    string
	}{
		{"a leak", []int64{10, 20, 40, 80, 160, 160, 240}, "outlast 80, fails"},
		{"gone", []int64{10, 20, 40, 80, 160, 160, 80}, "outlast 80, passes"},
		{"a part is gone", []int64{10, 20, 40, 80, 160, 160, 160}, "outlast 80, cut short"},
		{"some end one after another, all are gone", []int64{10, 20, 40, 80, 160, 150, 80}, "outlast 80, passes"},
		{"some end one after another, the others go on", []int64{10, 20, 40, 80, 160, 150, 230}, "outlast 80, cut short"},
	} {
		g := game{T: t, sleep: time.Second}
		steps, _ := g.of(tt.figures...)
		assert.Equal(t, fourBatches+tt.want, steps, tt.name)
	}
	late := func(_ int, s Step, r *Result) {
		if s.Action == Outlast {
			*r = Result{End: calls.Late}
		}
	}
	g := game{T: t, sleep: time.Second, result: late}
	steps, _ := g.of(10, 20, 40, 80, 160, 160)
	assert.Equal(t, fourBatches+"outlast 80, fails", steps, "the outcome without that batch stands")
	g = game{T: t, sleep: time.Second, left: 10 * time.Second}
	steps, _ = g.of(10, 20, 40, 80, 160, 160)
	assert.Equal(t, fourBatches+"fails", steps, "no time to wait")
	g = game{T: t, sleep: time.Second, result: func(_ int, s Step, r *Result) {
		if s.Action == Outlast {
			r.End = calls.Failed
		}
	}}
	steps, _ = g.of(10, 20, 40, 80, 160, 160)
	assert.Equal(t, fourBatches+"outlast 80, failed", steps)
}

// What is known of the last snapshot decides whether the trial has a verdict.
func TestJudgements(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(at int, m *finding.Snapshot)
		want   string
	}{
		{"misuse", func(_ int, m *finding.Snapshot) { m.Eval.Problems = []string{"no such package"} }, "batch 10, misuse"},
		{"a doubtful snapshot", func(at int, m *finding.Snapshot) {
			if at == 0 {
				m.Doubt = errors.New("doubt")
			}
		}, "batch 10, unknown: doubt"},
		{"too many goroutines", func(_ int, m *finding.Snapshot) { m.Goroutines = nil }, "batch 10, unknown: "},
		{"a chunk that serves many calls", func(_ int, m *finding.Snapshot) { m.Mapped = 2 << 20 }, "batch 10, batch 20, batch 40, confirm 80, settle, passes"},
	} {
		g := game{T: t, snapshot: func(at int, calls int64) *finding.Snapshot {
			m := piled(calls, 10, 0)
			tt.change(at, m)
			return m
		}}
		steps, last := g.play(10, 10)
		if tt.name == "a chunk that serves many calls" && !HasChunk(2<<20) {
			tt.want = "batch 10, passes" // a sanitizer maps memory
		}
		assert.True(t, strings.HasPrefix(steps, tt.want), tt.name+": "+steps)
		assert.Equal(t, 0, len(last.Forgiven()), tt.name)
	}
}

// appended is a snapshot with a slice that each call makes longer by 8 bytes, in an array with room
// for so many bytes.
func appended(calls, first, room int64) *finding.Snapshot {
	m := piled(calls, 10, 0)
	bytes := max(room, 8*(first+calls))
	root := &refscan.Node{
		Name: "example.com/app.journal", Type: "[]int", Root: &refscan.RootInfo{Kind: refscan.RootGlobal, Package: "example.com/app"},
		Figures: refscan.Figures{Objects: 1, Bytes: bytes, RoomBytes: bytes - 8*(first+calls)},
	}
	m.Forest = tree.GrowForest(&refscan.Report{Roots: []*refscan.Node{root}})
	return m
}

// A trial begins anew with a batch that fills a slice, if that takes little. If not, the log says
// that the slice was not judged.
func TestFill(t *testing.T) {
	journal := func(_ int, calls int64) *finding.Snapshot { return appended(calls, 0, 4096) }
	g := game{T: t, snapshot: journal}
	steps, last := g.play(10, 10)
	assert.Equal(t, "batch 10, passes", steps, "no call takes any time, so none is known to be quick")
	notes := last.UnjudgedSlices(20)
	assert.Equal(t, 1, len(notes))
	assert.Contains(t, notes[0], "+8.0 B/op via example.com/app.journal, in arrays that had room for them (160 B of 4.0 KiB in use)")
	assert.Contains(t, notes[0], "Iterations(513)")

	g.op = time.Microsecond
	steps, _ = g.play(10, 10)
	assert.Equal(t, "batch 10, batch 493, batch 513, batch 1026, batch 2052, confirm 4104, settle, further 2052, fails", steps)

	g.op = time.Millisecond
	steps, last = g.play(10, 10)
	assert.Equal(t, "batch 10, passes", steps, "so many calls take too long")
	assert.Equal(t, 1, len(last.UnjudgedSlices(20)))

	g.op, g.req.Iterations = time.Microsecond, 10
	steps, _ = g.play(10, 10)
	assert.Equal(t, "batch 10, passes", steps, "the number is the user's")

	g = game{T: t, op: time.Microsecond, left: time.Millisecond, snapshot: journal}
	steps, _ = g.play(10, 10)
	assert.Equal(t, "batch 1, passes", steps, "no time")
}

// Where the leak makes calls slow, the last batch only confirms it.
func TestConfirmsBriefly(t *testing.T) {
	for _, tt := range []struct {
		op         time.Duration
		iterations int
		each       float64 // goroutines that a call leaves
		want       string
		enough     int
	}{
		{20 * time.Millisecond, 0, 1, "confirm 50", 64},
		{time.Second, 0, 1, "confirm 20", 64},
		{time.Second, 0, 2, "confirm 20", 32},
		{time.Second, 10, 1, "confirm 80", 64},
		{time.Second, 0, 0.52, "confirm 80", 1000},
	} {
		g := game{T: t, op: tt.op, snapshot: func(_ int, calls int64) *finding.Snapshot { return piled(calls, int64(tt.each*float64(calls)), 0) }}
		g.req.Iterations = tt.iterations
		steps, last := g.play(10, 10)
		assert.Contains(t, steps, "batch 10, batch 20, batch 40, "+tt.want+", settle", tt)
		assert.Equal(t, tt.enough, EnoughRecorded(&last.Finder, 1000), tt)
		assert.Equal(t, 7, EnoughRecorded(&last.Finder, 7), tt)
	}
}

// Half of what grew has to leave its place for the growth to count as moved.
func TestHasLeft(t *testing.T) {
	at := func(calls, first int64) *finding.Snapshot { return appended(calls, first, 0) }
	g := game{T: t, snapshot: func(_ int, calls int64) *finding.Snapshot { return at(calls, 0) }}
	_, last := g.play(10, 10)
	grown := last.Growth()
	assert.Equal(t, 1, len(grown.Leaks))
	for first, want := range map[int64]bool{0: false, -20: false, -100: true} {
		assert.Equal(t, want, hasLeft(grown, last.First(), last.Last(), at(last.Last().Calls, first)), first)
	}
}
