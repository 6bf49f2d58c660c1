package leakcheck

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// Peaks of a user's operations that exceed the bound for a while fail, and others pass.
func TestEndToEndPeaks(t *testing.T) {
	require.Slow(t)
	m := newScratchModule(t)
	if out, ok := m.run(t, "peak", nil, "go", "test", "-vet=off", "-c", "-o", "peak.test", "-ldflags=-s=0 -w=0", "."); !ok {
		t.Fatal(out)
	}
	if out, ok := m.run(t, "peak", nil, "./peak.test", "-test.v"); !ok {
		t.Error(out)
	}
}

// Invalid options are reported, and op is not called.
func TestPeakMisuse(t *testing.T) {
	never := func() { t.Error("op is called") }
	for text, assertPeak := range map[string]func(TestingT) bool{
		"AssertPeak: op is nil":                                       func(t TestingT) bool { return AssertPeak(t, nil, MaxBytes(1)) },
		"MaxBytes(-1): a bound cannot be negative":                    func(t TestingT) bool { return AssertPeak(t, never, MaxBytes(-1)) },
		"a zero PeakBound: make it with MaxBytes":                     func(t TestingT) bool { return AssertPeak(t, never, PeakBound{}) },
		"option 1 is nil":                                             func(t TestingT) bool { return AssertPeak(t, never, MaxBytes(1), nil) },
		"Iterations(0): op must be called at least once a batch":      func(t TestingT) bool { return AssertPeak(t, never, MaxBytes(1), Iterations(0)) },
		"Warmup(0): op must be called at least once before the first": func(t TestingT) bool { return AssertPeak(t, never, MaxBytes(1), Warmup(0)) },
	} {
		ft := &fakeT{}
		assert.False(t, assertPeak(ft), text)
		assert.Contains(t, ft.errorText(), text)
	}
	assert.Panics(t, func() { AssertPeak(nil, never, MaxBytes(1)) })
	assert.Panics(t, func() { AssertPeak((*testing.T)(nil), never, MaxBytes(1)) })
}
