package live_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/heaptest"
)

// Of this process, whose goroutines, timers and cleanups hold objects, the marking reaches what the
// judge does.
func TestJudgeOnMarks(t *testing.T) {
	heaptest.Long(t)
	end := make(chan struct{})
	defer close(end)
	for range 10 {
		go func() {
			k := &heaptest.Knot{A: &heaptest.Knot{}}
			<-end
			runtime.KeepAlive(k)
		}()
	}
	timer := time.AfterFunc(time.Hour, func() { runtime.KeepAlive(end) })
	defer timer.Stop()
	k := &heaptest.Knot{List: []*heaptest.Knot{{}, {}}}
	runtime.SetFinalizer(k, func(*heaptest.Knot) {})
	runtime.AddCleanup(k.List[0], func(*heaptest.Corner) {}, &heaptest.Corner{Data: make([]byte, 100)})
	heaptest.Judged(t).SameReach(t, 300) // objects that any test binary has
	runtime.KeepAlive(k)
}
