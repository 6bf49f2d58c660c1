package series_test

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
)

var usualCalls = []int64{10, 20, 40, 80, 160}

// of is a series of figures after the usual calls.
func of(values ...int64) *series.Series {
	return &series.Series{Calls: usualCalls[:len(values)], Values: values}
}

// Objects that each batch adds to are told from what fills up, slows down, or came in one batch.
func TestCountsKeepPace(t *testing.T) {
	for _, tt := range []struct {
		what   string
		values []int64
		want   bool
	}{
		{"one a call", []int64{10, 20, 40, 80, 160}, true},
		{"every other call", []int64{5, 10, 20, 40, 80}, true},
		{"one and a remainder", []int64{107, 117, 137, 177, 257}, true},
		{"after one batch", []int64{10, 20}, true},
		{"too few", []int64{10, 10, 10, 11, 12}, false},
		{"nothing", []int64{7, 7, 7, 7, 7}, false},
		{"it falls", []int64{20, 10, 40, 80, 160}, false},
		{"a batch without any", []int64{10, 20, 20, 60, 140}, false},
		{"a cache that fills up", []int64{10, 90, 110, 120, 125}, false},
		{"a logarithm", []int64{100, 200, 300, 400, 500}, false},
		{"a square root", []int64{316, 447, 632, 894, 1265}, false},
		{"a burst at last, of what had slowed down", []int64{0, 100, 227, 422, 1422}, false},
		{"a burst at last of a leak", []int64{10, 20, 40, 80, 320}, true},
	} {
		assert.Equal(t, tt.want, of(tt.values...).CountsKeepPace(), tt.what)
	}
}

// Arrays grow in steps: a batch may add more or less than its calls take, but each adds some.
func TestBytesKeepPace(t *testing.T) {
	for _, tt := range []struct {
		what       string
		values     []int64
		step, pace bool
	}{
		{"eight a call", []int64{80, 160, 320, 640, 1280}, true, true},
		{"steps", []int64{128, 256, 512, 1024, 2048}, true, true},
		{"a step in place of two", []int64{128, 256, 256, 1024, 2048}, false, false},
		{"few", []int64{80, 88, 96, 104, 112}, false, false},
		{"less than a half a call", []int64{1000, 1010, 1020, 1040, 1070}, false, false},
		{"a small part of much", []int64{100000, 100010, 100030, 100070, 100150}, false, false},
		{"a small part, but much each call", []int64{100000, 100050, 100150, 100350, 100750}, true, true},
		{"a logarithm", []int64{1000, 2000, 3000, 4000, 5000}, true, false},
		{"a square root", []int64{3160, 4470, 6320, 8940, 12650}, true, false},
		{"after one batch", []int64{80, 160}, true, true},
		{"a burst at last", []int64{1000, 1010, 1031, 1072, 90000}, true, false},
	} {
		s := of(tt.values...)
		assert.Equal(t, tt.step, s.BytesStepUp(), tt.what)
		assert.Equal(t, tt.pace, s.BytesKeepPace(), tt.what)
	}
}

// A scan misses some objects by chance.
func TestMissedGrow(t *testing.T) {
	for _, tt := range []struct {
		values []int64
		want   bool
	}{
		{[]int64{10, 20, 40, 80, 160}, true},
		{[]int64{3, 6, 12, 24, 48}, true},
		{[]int64{1, 3, 6, 12, 24}, false}, // 23 in all
		{[]int64{0, 1, 3, 8, 18}, false},
		{[]int64{10, 13}, true}, // there are more batches to come
		{[]int64{10, 12}, false},
	} {
		assert.Equal(t, tt.want, of(tt.values...).MissedGrow(), tt.values)
	}
}

func TestIsExact(t *testing.T) {
	assert.True(t, of(10, 20, 40, 80, 160).IsExact())
	assert.True(t, of(7, 27, 67, 147).IsExact(), "two a call")
	assert.False(t, of(10, 20, 40, 80, 161).IsExact())
	assert.False(t, of(10, 20, 39, 80, 160).IsExact())
	assert.False(t, of(7, 7, 7).IsExact(), "none is no growth")
	assert.False(t, of(80, 70, 50).IsExact(), "they go")
}

func TestRates(t *testing.T) {
	for _, tt := range []struct {
		a, b       float64
		step, many bool // either way
	}{
		{1, 1, true, true},
		{1, 1.04, true, true},
		{1, 1.2, false, true},
		{1, 1.5, false, true},
		{1, 1.6, false, false},
		{1, 2, true, false},
		{1, 2.3, false, false},
		{0.5, 2, true, false},
		{1, 4.1, true, false},
		{1, 5, false, false},
	} {
		for range 2 {
			assert.Equal(t, tt.step, series.KeepStep(tt.a, tt.b), tt)
			assert.Equal(t, tt.many, series.AboutAsMany(tt.a, tt.b), tt)
			tt.a, tt.b = tt.b, tt.a
		}
	}
	for _, tt := range []struct {
		rate, of float64
		want     bool
	}{{3, 1, true}, {3.04, 1, true}, {3.1, 1, false}, {1, 3, false}, {100, 1, true}, {101, 1, false}, {0, 1, false}, {5, 2.5, true}} {
		assert.Equal(t, tt.want, series.IsMultiple(tt.rate, tt.of), tt)
	}
}

func TestText(t *testing.T) {
	s := of(1000, 2000)
	assert.Equal(t, "objects: 1,000 → 2,000 after 10 and 20 calls", s.Show("objects"))
	s.MoreCalls, s.More = []int64{80, 112, 130}, []int64{16, 3200, 32}
	assert.Equal(t, "16 → 3,200 → 32 after 80, 112 and 130", s.ShowFurther())
	for _, tt := range []struct {
		values    []int64
		rate, all string
	}{
		{[]int64{10, 20}, "+1.00", "+1.00 goroutine"},
		{[]int64{10, 15}, "+0.50", "+0.50 goroutines"},
		{[]int64{10, 30}, "+2.00", "+2.00 goroutines"},
		{[]int64{20, 10}, "-1.00", "-1.00 goroutines"},
	} {
		assert.Equal(t, tt.rate, series.PerCallText(*of(tt.values...)))
		assert.Equal(t, tt.all, series.NounPerCall(*of(tt.values...), "goroutine"))
	}
	for n, want := range map[float64]string{0.5: "0.5 B", 9.99: "10.0 B", 10: "10 B", 99.6: "100 B", 4300: "4.2 KiB"} {
		assert.Equal(t, want, series.BytesPerCall(n))
	}
}

// A figure that is lower after a further batch than after the one before, by more than chance, is a
// buffer.
func TestFell(t *testing.T) {
	for _, tt := range []struct {
		more []int64
		want bool
	}{
		{nil, false},
		{[]int64{10}, false}, // the first is compared with none
		{[]int64{240, 320, 400}, false},
		{[]int64{240, 232, 400}, false}, // the root of 80 is 8.9
		{[]int64{240, 230, 400}, true},
		{[]int64{240, 320, 0}, true},
	} {
		s := of(10, 20, 40, 80, 160)
		s.MoreCalls, s.More = []int64{240, 320, 400}[:len(tt.more)], tt.more
		assert.Equal(t, tt.want, s.Fell(), tt.more)
	}
}
