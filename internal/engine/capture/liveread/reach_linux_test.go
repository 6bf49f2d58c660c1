//go:build amd64 || arm64

package liveread_test

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/internal/testkit/heaptest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

var (
	reachKnots []*heaptest.Knot
	knotsLock  sync.Mutex
)

// reachOf returns what reachKnots leads to; false if that is not known.
func reachOf(t *testing.T) (proof.Reach, bool) {
	t.Helper()
	const name = "github.com/leakgate/leakgate/internal/engine/capture/liveread_test.reachKnots"
	r := proof.Reach{Ident: "reachKnots", Is: func(n string) bool { return n == name }, Count: proof.Count{MaxObjects: -1, MaxBytes: -1}}
	within, err := proof.Within(context.Background(), t.Logf, proof.Claims{Variables: []*proof.Reach{&r}})
	require.NoError(t, err)
	return r, within
}

// Goroutines that keep running do not change the reach of a variable.
func TestReachBesideOthers(t *testing.T) {
	var stop sync.WaitGroup
	done := make(chan struct{})
	t.Cleanup(func() { close(done); stop.Wait(); reachKnots = nil })
	reachKnots = make([]*heaptest.Knot, 2)
	for range 2 * runtime.GOMAXPROCS(0) {
		stop.Add(1)
		go func() {
			defer stop.Done()
			for {
				select {
				case <-done:
					return
				default:
					k := &heaptest.Knot{List: make([]*heaptest.Knot, 10)} // never more than three objects a knot
					k.A = &heaptest.Knot{}
					knotsLock.Lock()
					reachKnots[0] = k
					reachKnots[1] = k
					knotsLock.Unlock()
				}
			}
		}()
	}
	told, rounds := 0, require.Rounds(20, 200)
	for range rounds {
		if r, within := reachOf(t); within {
			told++
			require.LessOrEqual(t, r.Objects, int64(7))
		}
	}
	t.Logf("%d of %d could be told", told, rounds)
}
