package gcwatch_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/runtime/gcwatch"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

var kept *[12]*int

//go:noinline
func allocateMany(n int) {
	for range n {
		kept = new([12]*int)
	}
}

// What was recorded between two moments is told whole, however many collections publish it
// meanwhile.
func TestMoments(t *testing.T) {
	r, _ := findRecords(t)
	rate := runtime.MemProfileRate
	before, err := r.Moment(gcwatch.Self{})
	require.NoError(t, err)
	require.Equal(t, int64(rate), before.Rate)
	runtime.MemProfileRate = 1
	defer func() { runtime.MemProfileRate = rate }()
	_, err = r.Since(gcwatch.Self{}, before)
	require.ErrorIs(t, err, gcwatch.ErrRate)

	// With a rate of 1 each object is recorded, whatever was left of the old rate.
	before, err = r.Moment(gcwatch.Self{})
	require.NoError(t, err)
	for range 5 {
		allocateMany(200)
		runtime.GC()
		allocateMany(200)
	}
	all, err := r.Since(gcwatch.Self{}, before)
	require.NoError(t, err)
	found := int64(0)
	for _, s := range all {
		if s.Size != int64(len(kept))*8 {
			continue
		}
		for _, pc := range s.Stack {
			if f := runtime.FuncForPC(uintptr(pc - 1)); f != nil && strings.HasSuffix(f.Name(), ".allocateMany") {
				found += s.Objects
				break
			}
		}
	}
	require.Equal(t, int64(2000), found)
}
