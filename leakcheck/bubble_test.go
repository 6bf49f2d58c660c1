//go:build go1.25

package leakcheck

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
)

// Assertions work in a bubble of testing/synctest, with its T and the one around it, or say that
// they do not.
func TestEndToEndBubbles(t *testing.T) {
	require.Slow(t)
	m := newScratchModule(t)
	if out, ok := m.run(t, "bubble", nil, "go", "test", "-c", "-o", "bubble.test", "-ldflags=-s=0 -w=0", "."); !ok {
		t.Fatal(out)
	}
	if out, ok := m.run(t, "bubble", nil, "./bubble.test", "-test.v"); !ok {
		t.Error(out)
	}
}

// What cannot work in a bubble says so, with either T.
func TestUnknownInBubbles(t *testing.T) {
	t.Setenv("LEAKGATE_STRICT", "1")
	for name, assert := range map[string]func(TestingT) bool{
		"AssertAllocs": func(t TestingT) bool { return AssertAllocs(t, func() {}, AllAllocs().MaxAllocsPerOp(0)) },
		"AssertPeak":   func(t TestingT) bool { return AssertPeak(t, func() { _ = make([]byte, 1<<20) }, MaxBytes(1<<20)) },
	} {
		synctest.Test(t, func(*testing.T) {
			ft := &fakeT{}
			require.False(t, assert(ft), name)
			wantInOrder(t, ft.errorText(), "UNKNOWN", "in a bubble of testing/synctest", "remedy: call it outside of the bubble, with synctest.Test in op")
		})
	}
}

// In a bubble assertions have no deadline: its T does not tell, and its timers go by another clock.
func TestBudgetInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.True(t, assertion.ThisProcess().Budget(t).Allows(time.Hour))
	})
}
