package finding

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
)

var worker = goroutine.Origin{Entry: "app.work"}

// at is a snapshot after some calls, at which so many goroutines ran.
func at(calls, goroutines int64) *Snapshot {
	return &Snapshot{Calls: calls, Goroutines: map[goroutine.Origin]goroutine.Pile{worker: {Count: goroutines}}}
}

// A history does not change with those that are made of it.
func TestHistoryIsAValue(t *testing.T) {
	h := new(History)
	for i := range int64(4) {
		h = h.With(at(10*i, i))
	}
	before := h.GoroutinesOf(worker)
	for _, other := range []*History{
		h.With(at(50, 5)), h.With(at(50, 50)), h.WithoutLast().With(at(40, 40)), h.WithFurther(at(60, 6)), h.WithFurther(at(60, 60)),
		h.WithLater(at(70, 7)), h.Since(2), h.Since(2).With(at(80, 8)),
	} {
		assert.Equal(t, before, h.GoroutinesOf(worker))
		assert.True(t, len(other.Snapshots) != 4 || other.Further != nil || other.Later != nil || other.Last() != h.Last())
	}
	one, two := h.WithFurther(at(60, 6)), h.WithFurther(at(60, 60))
	assert.Equal(t, []int64{6}, one.GoroutinesOf(worker).More)
	assert.Equal(t, []int64{60}, two.GoroutinesOf(worker).More)
}

func TestSince(t *testing.T) {
	h := new(History)
	for i := range int64(5) {
		h = h.With(at(10*i, i))
	}
	h = h.WithFurther(at(60, 6)).WithLater(at(70, 7))
	n := 0
	for range h.All() {
		n++
	}
	assert.Equal(t, 7, n)
	s := h.GoroutinesOf(worker)
	assert.Equal(t, int64(4), s.Grown())
	assert.Equal(t, int64(7), s.Later)
	h = h.Since(3)
	assert.Equal(t, 3, h.Dropped)
	assert.Equal(t, int64(30), h.First().Calls)
	assert.Equal(t, int64(40), h.Last().Calls)
	assert.Equal(t, 0, len(h.Further))
	assert.True(t, h.Later == nil)
	assert.Equal(t, 4, h.Since(1).Dropped)
	assert.False(t, h.Uncounted())
	assert.True(t, h.With(&Snapshot{}).Uncounted())
	assert.Equal(t, "", h.Lost())
	assert.NoError(t, h.Doubt())
}

// The last batch in which a figure fell by as much as may hide a leak is the one that counts, and
// of its figures the one that fell by most.
func TestLastFall(t *testing.T) {
	for _, tt := range []struct {
		figures []int64
		to      int // 0: none
		note    string
	}{
		{[]int64{1, 2, 3}, 0, ""},
		{[]int64{5, 5, 5}, 0, ""},
		{[]int64{9, 3, 4, 5}, 1, "9 → 3"},
		{[]int64{9, 3, 9, 2}, 3, "9 → 2"},
	} {
		h := new(History)
		for i, n := range tt.figures {
			h = h.With(at(int64(10*i), n))
		}
		f := h.LastFall()
		assert.Equal(t, tt.to > 0, f != nil, tt)
		if f != nil {
			assert.Equal(t, tt.to, f.To, tt)
			assert.Contains(t, f.Note(), tt.note)
			h.Snapshots[f.To].Settled = true // what went while op was not called hides nothing
			again := h.LastFall()
			assert.True(t, again == nil || again.To < f.To, tt)
		}
	}
}
