package series_test

import (
	"math/rand/v2"
	"testing"

	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
)

// isLeak measures a figure after batches of calls, and after further ones while the series is not
// clear, as AssertNoGrowth does. The argument of figure is the number of calls so far.
func isLeak(before int64, batches []int, figure func(calls int64) int64) (leak bool, s *series.Series) {
	calls := before
	s = &series.Series{Calls: []int64{calls}, Values: []int64{figure(calls)}}
	for _, n := range batches {
		calls += int64(n)
		s.Calls, s.Values = append(s.Calls, calls), append(s.Values, figure(calls))
		if len(s.Values) > series.Intervals && !s.CountsKeepPace() {
			return false, s
		}
	}
	for _, n := range series.FurtherBatches(batches[len(batches)-1]) {
		if s.IsClear() || !s.CountsKeepPace() {
			break
		}
		calls += int64(n)
		s.MoreCalls, s.More = append(s.MoreCalls, calls), append(s.More, figure(calls))
	}
	return s.CountsKeepPace(), s
}

// batches returns batches that double, except for the last.
func batches(first, last int) []int { return []int{first, 2 * first, 4 * first, last} }

// TestBuffers tests buffers that are flushed when they are full: by chance, batches may leave more
// and more in them. There is not always time for a last batch that is twice as large. A series that
// grew by the same number with each call may pass for a leak.
func TestBuffers(t *testing.T) {
	doubtful := 0
	look := func(size, before int64, all []int) {
		leak, s := isLeak(before, all, func(calls int64) int64 { return calls % size })
		if leak && !s.IsExact() {
			t.Errorf("%d entries, %d, then %v calls: %v, further %v", size, before, all, s.Values, s.More)
		}
		if s.More != nil {
			doubtful++
		}
	}
	for first := 5; first <= 250; first++ {
		for size := int64(2); size <= 24; size++ {
			for less := range size {
				for before := range size {
					look(size, before, batches(first, 8*first-int(less)*first/8))
				}
			}
		}
		for size := int64(25); size <= 600; size++ {
			look(size, int64(first), batches(first, 8*first))
			look(size, int64(3*first), batches(first, 8*first))
		}
	}
	t.Logf("%d of the buffers seemed to grow", doubtful)
	if doubtful < 1000 {
		t.Error("these are few")
	}
}

// TestSlowLeaks tests leaks of only some calls: one of so many, or by chance, which may also look
// like growth that slows down.
func TestSlowLeaks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, each := range []int64{1, 2, 3, 7, 20, 50} {
		found, byChance := 0, 0
		const runs = 500
		for range runs {
			all := batches(100+rng.IntN(150), 800)
			if leak, _ := isLeak(rng.Int64N(each), all, func(calls int64) int64 { return calls / each }); leak {
				found++
			}
			var calls, left int64
			leak, _ := isLeak(0, all, func(now int64) int64 {
				for ; calls < now; calls++ {
					if rng.Int64N(each) == 0 {
						left++
					}
				}
				return left
			})
			if leak {
				byChance++
			}
		}
		t.Logf("one of %d calls: found %d of %d, by chance %d", each, found, runs, byChance)
		if found < runs || byChance < runs*3/4 {
			t.Errorf("a leak of one of %d calls is found %d and %d times of %d", each, found, byChance, runs)
		}
	}
}

// TestExactButFurther tests series that grew by the same number with each call, and have further
// batches, since something else grew less evenly. The array of a queue whose consumers are late
// doubles as batches do.
func TestExactButFurther(t *testing.T) {
	calls, further := []int64{8, 16, 32, 64, 128}, []int64{160, 217, 280, 339, 403, 463, 525, 583, 646}
	queue := &series.Series{Calls: calls, Values: []int64{32, 64, 128, 256, 512}, MoreCalls: further[:3], More: []int64{256, 512, 896}}
	if !queue.IsExact() || queue.IsClear() {
		t.Error("three batches that contradict are enough")
	}
	queue.MoreCalls, queue.More = further, []int64{256, 512, 896, 896, 512, 896, 896, 512, 896}
	if !queue.IsClear() || !queue.BytesLevelOff() {
		t.Error("an array that was once as large is taken for a leak")
	}
	leak := &series.Series{Calls: calls, Values: calls, MoreCalls: further[:1], More: further[:1]}
	if !leak.IsClear() || leak.LevelsOff() {
		t.Error("one batch that agrees is not enough")
	}
}
