package goruntime_test

import (
	"testing"

	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/imagetest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A goroutine that is about to run a function whose stack objects are larger than the stack in use
// has one frame and holds nothing by it: one that never ran, and one that was stopped before the
// function had set up its frame.
func TestGoroutinesWithoutFrame(t *testing.T) {
	for name, offset := range map[string]uint64{"never ran": 0, "stopped in the prologue": 4} {
		t.Run(name, func(t *testing.T) {
			b := imagetest.NewBench(t)
			g := b.Goroutine("main.start.func2")
			// The stack as the runtime leaves it: a return address to runtime.goexit on top
			// (runtime/proc.go, newproc1).
			top := b.U64(g.Addr+b.Offset("runtime.g", "stktopsp")) - 8
			b.PutU64(g.Addr+b.Offset("runtime.g", "sched.pc"), b.Function("main.wideFrame")+offset)
			b.PutU64(g.Addr+b.Offset("runtime.g", "sched.sp"), top)
			b.PutU64(g.Addr+b.Offset("runtime.g", "sched.ctxt"), 0)
			require.Less(t, g.Hi-top, uint64(8*48), "the stack has no room for the object")
			m, err := b.Load(b.Program)
			require.NoError(t, err)
			for _, now := range m.Goroutines {
				if now.Addr != g.Addr {
					continue
				}
				require.NoError(t, m.LiveSlots(now, func(s goruntime.Slot) { assert.Fail(t, "a slot", s) }))
				calls, err := callsOf(m, now)
				require.NoError(t, err)
				require.NotEmpty(t, calls)
				assert.Equal(t, "main.wideFrame", calls[0].Name)
				assert.Equal(t, "runtime.goexit", calls[len(calls)-1].Name)
				return
			}
			require.Fail(t, "the goroutine is gone")
		})
	}
}
