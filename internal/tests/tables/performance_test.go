package main

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestParseBenchmarks(t *testing.T) {
	results, cpu := parseBenchmarks(`goos: linux
cpu: Some Processor @ 2 GHz
BenchmarkHeap/mix-2         	       3	1522533888 ns/op	       393.9 capture-ms	        31.51 x-GC
BenchmarkTake               	      20	     12345 ns/op
PASS
ok  	example.com/refscan	113.232s
`)
	assert.Equal(t, "Some Processor @ 2 GHz", cpu)
	assert.Equal(t, map[string]result{
		"Heap/mix-2": {"ns/op": 1522533888, "capture-ms": 393.9, "x-GC": 31.51},
		"Take":       {"ns/op": 12345},
	}, results)
}

func TestGoals(t *testing.T) {
	g := atMost("pause", 10, 20.94, "ms")
	assert.Equal(t, goal{"pause", "<= 10.0 ms", "20.9 ms", false}, g)
	assert.True(t, atMost("pause", 10, 10, "ms").met)
}

func TestUsage(t *testing.T) {
	var out, errs nothing
	require.ErrorIs(t, run(t.Context(), []string{"performance", "-no-such-flag"}, &out, &errs), errUsage)
	require.ErrorIs(t, run(t.Context(), []string{"performance", "argument"}, &out, &errs), errUsage)
	require.ErrorIs(t, run(t.Context(), nil, &out, &errs), errUsage)
	// tests run elsewhere
	require.ErrorContains(t, run(t.Context(), []string{"performance"}, &out, &errs), "top folder")
}

type nothing struct{}

func (*nothing) Write(p []byte) (int, error) { return len(p), nil }
