package imagetest_test

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// TestGoroutinesWithoutFrame scans goroutines that are about to run a function whose stack objects
// are larger than the stack in use: one that never ran, and one that was stopped before the
// function had set up its frame.
func TestGoroutinesWithoutFrame(t *testing.T) {
	for name, offset := range map[string]uint64{"never ran": 0, "stopped in the prologue": 4} {
		t.Run(name, func(t *testing.T) {
			s := record(t)
			m, err := s.load()
			require.NoError(t, err)
			b := &bench{s, t, m}
			g := b.goroutine("main.start.func2")
			// The stack as the runtime leaves it: a return address to runtime.goexit on top
			// (runtime/proc.go, newproc1).
			top := b.U64(g.Addr+b.off("runtime.g", "stktopsp")) - 8
			b.PutU64(g.Addr+b.off("runtime.g", "sched.pc"), b.function("main.wideFrame")+offset)
			b.PutU64(g.Addr+b.off("runtime.g", "sched.sp"), top)
			b.PutU64(g.Addr+b.off("runtime.g", "sched.ctxt"), 0)
			require.Less(t, g.Hi-top, uint64(8*48), "the stack has no room for the object")
			o := s.scan()
			require.NoError(t, o.err)
			require.Positive(t, o.res.Totals.AttributedObjects)
			require.NoError(t, s.stacks())
		})
	}
}
