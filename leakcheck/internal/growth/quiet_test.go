package growth

import (
	"testing"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
)

// A stack that gets deeper is left to the snapshots, which count its frames: a frame may take no
// more than 8 bytes where the compiler has inlined others.
func TestStacksAreQuiet(t *testing.T) {
	const calls = 250
	assert.True(t, isQuiet(proof.Newcomers{}, calls))
	assert.True(t, isQuiet(proof.Newcomers{Deeper: 500}, calls))
	assert.False(t, isQuiet(proof.Newcomers{Deeper: 8 * calls}, calls))
	assert.False(t, isQuiet(proof.Newcomers{Deeper: 16 * minProofCalls}, minProofCalls))
}

// Among what is new no leak can be: one less than its smallest rate leaves.
func TestIsQuiet(t *testing.T) {
	const calls = 250
	few := maxNew(series.MinGrownPerCall, calls)
	for name, c := range map[string]struct {
		new  proof.Newcomers
		want bool
	}{
		"few objects":           {proof.Newcomers{Objects: few}, true},
		"one more":              {proof.Newcomers{Objects: few + 1}, false},
		"a block of small ones": {proof.Newcomers{TinyBlocks: 1 + few/(valuesInBlock-1)}, false},
		"few entries":           {proof.Newcomers{MapEntries: few}, true},
		"more entries":          {proof.Newcomers{MapEntries: few + 1}, false},
		"few goroutines":        {proof.Newcomers{Goroutines: few}, true},
		"more goroutines":       {proof.Newcomers{Goroutines: few + 1}, false},
		"few timers":            {proof.Newcomers{Timers: few}, true},
		"more timers":           {proof.Newcomers{Timers: few + 1}, false},
		"few bytes":             {proof.Newcomers{Bytes: int64(series.MinBytesPerCall*calls) - 1}, true},
		"more bytes":            {proof.Newcomers{Bytes: int64(series.MinBytesPerCall * calls)}, false},
		"one for another":       {proof.Newcomers{Objects: 1, Gone: 1, Replaced: 1, Bytes: swappedBytes - 1}, true},
		"a large one":           {proof.Newcomers{Objects: 1, Gone: 1, Replaced: 1, Bytes: swappedBytes}, false},
		"one beside another":    {proof.Newcomers{Objects: 1, Replaced: 1, Bytes: swappedBytes - 1}, false},
	} {
		assert.Equal(t, c.want, isQuiet(c.new, calls), name)
	}
}

// A proof allows less than a leak of the smallest rate leaves, and one less still.
func TestMaxNew(t *testing.T) {
	for _, c := range []struct {
		perCall float64
		calls   int
		want    int64
	}{{0.25, 100, 23}, {0.25, 4, 0}, {0.25, 1, 0}, {0.1, 100, 8}, {0.25, 101, 24}, {1, 0, 0}} {
		assert.Equal(t, c.want, maxNew(c.perCall, c.calls), c)
		assert.Less(t, float64(c.want)+1, max(1.01, c.perCall*float64(c.calls)), c)
	}
}

// Each kind of resource has its own limit. Native blocks are counted elsewhere.
func TestFewResources(t *testing.T) {
	const calls = 100
	few, threads := maxNew(series.MinGrownPerCall, calls), maxNew(finding.MinThreadsPerCall, calls)
	for kind, most := range map[ledger.Kind]int64{
		ledger.Process: few, ledger.Descriptor: few, ledger.File: few, ledger.Variable: few, ledger.Thread: threads,
		ledger.Mapping: series.MinMappedPerCall*calls - 1, ledger.Stack: finding.MinStack - 1,
	} {
		var grown ledger.Amounts
		grown[kind] = most
		assert.True(t, fewResources(grown, calls), kind)
		grown[kind]++
		assert.False(t, fewResources(grown, calls), kind)
	}
	assert.True(t, fewResources(ledger.Amounts{ledger.Native: 1 << 30, ledger.NativeBytes: 1 << 40}, calls))
}

// C code may leave a few blocks, of all sizes together, and few bytes. It is looked at again a few
// times, since what it has left may go.
func TestProvesNative(t *testing.T) {
	const calls = 100
	few := maxNew(series.MinBlocksPerCall, calls)
	before := &nativeheap.Heap{Bytes: 1000, Mapped: 2, Sizes: map[int64]int64{32: 10, 48: 5}}
	for name, c := range map[string]struct {
		now   []nativeheap.Heap // the last one repeats
		want  bool
		looks int
	}{
		"the same":              {[]nativeheap.Heap{*before}, true, 1},
		"less":                  {[]nativeheap.Heap{{}}, true, 1},
		"few of one size":       {[]nativeheap.Heap{{Sizes: map[int64]int64{32: 10 + few}}}, true, 1},
		"more":                  {[]nativeheap.Heap{{Sizes: map[int64]int64{32: 11 + few}}}, false, maxCounts},
		"more of one, and less": {[]nativeheap.Heap{{Sizes: map[int64]int64{32: 11 + few, 48: 0}}}, false, maxCounts},
		"of two sizes":          {[]nativeheap.Heap{{Sizes: map[int64]int64{32: 10 + few, 64: 1}}}, false, maxCounts},
		"mapped":                {[]nativeheap.Heap{{Mapped: 3 + few}}, false, maxCounts},
		"few bytes":             {[]nativeheap.Heap{{Bytes: 999 + series.MinMappedPerCall*calls}}, true, 1},
		"more bytes":            {[]nativeheap.Heap{{Bytes: 1000 + series.MinMappedPerCall*calls}}, false, maxCounts},
		"gone at last":          {[]nativeheap.Heap{{Mapped: 1000}, {Mapped: 1000}, *before}, true, 3},
	} {
		w := newWorld(t, leaks(0))
		looks := 0
		w.Native.Take = func() (*nativeheap.Heap, error) {
			looks++
			return &c.now[min(looks, len(c.now))-1], nil
		}
		assert.Equal(t, c.want, provesNative(w.begin(&fakeT{}), before, calls), name)
		assert.Equal(t, c.looks, looks, name)
	}
	w := newWorld(t, leaks(0))
	w.Native.Take = func() (*nativeheap.Heap, error) { return nil, nativeheap.ErrFlux }
	assert.False(t, provesNative(w.begin(&fakeT{}), before, calls))
	a := w.begin(&fakeT{})
	assert.Nil(t, takeNative(a))
	assert.Empty(t, a.Logs, "resources are not listed")
	a.Resources = func(string) (*ledger.Ledger, error) { return nil, nil }
	assert.Nil(t, takeNative(a))
	assert.Len(t, a.Logs, 1)
	a.Native.Take = func() (*nativeheap.Heap, error) { return before, nil }
	assert.Same(t, before, takeNative(a))
}
