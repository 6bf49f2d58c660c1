package gcwatch

import (
	"runtime"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// The watch reports each collection before the next one is requested, and with its number.
func TestEachCollectionIsToldOf(t *testing.T) {
	r := NewReader()
	w := Start()
	defer w.Stop()
	for range 50 {
		before, _ := r.Last()
		runtime.GC()
		for now := before; now.Number == before.Number; now, _ = r.Last() {
			<-w.Ended() // the value may be of an earlier collection
		}
	}
}

// Objects that are alive at the end of a mark phase count, others do not.
func TestLive(t *testing.T) {
	const size = 32 << 20
	r := NewReader()
	runtime.GC()
	before, allocated := r.Last()
	require.Positive(t, before.Live)
	held := make([]byte, size)
	runtime.GC()
	during, all := r.Last()
	assert.True(t, during.Live >= before.Live+size-size/8 && during.Live < before.Live+size+size/8, "%d, then %d", before.Live, during.Live)
	assert.True(t, all-allocated >= size, "%d", all-allocated)
	held[1] = 1
	runtime.KeepAlive(held)
	held = nil
	runtime.GC()
	after, _ := r.Last()
	assert.True(t, after.Live < before.Live+size/8, "%d, then %d", before.Live, after.Live)
	assert.True(t, after.Number > during.Number && during.Number > before.Number)
}

// A stopped watch leaves nothing behind: no finalizer keeps its sentinel.
func TestStop(t *testing.T) {
	w := Start()
	runtime.GC()
	<-w.Ended()
	w.Stop()
	gone := make(chan struct{})
	runtime.SetFinalizer(w, func(*Watch) { close(gone) })
	w = nil
	for { // the next collection finds the objects that a finalizer releases
		runtime.GC()
		select {
		case <-gone:
			return
		default:
			runtime.Gosched()
		}
	}
}

// While nobody reads the channel, collections are watched all the same, and one value stands for
// all of them.
func TestNobodyReads(t *testing.T) {
	w := Start()
	defer w.Stop()
	before := Notified()
	for Notified() < before+5 {
		runtime.GC()
		runtime.Gosched()
	}
	<-w.Ended()
}

func BenchmarkLast(b *testing.B) {
	r := NewReader()
	for range b.N {
		r.Last()
	}
}
