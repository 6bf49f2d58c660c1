package parallel

import (
	"iter"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestDo(t *testing.T) {
	for _, n := range []int{0, 1, 2, 9} {
		var calls [9]atomic.Int32
		Do(n, func(i int) { calls[i].Add(1) })
		for i := range calls {
			want := int32(0)
			if i < n {
				want = 1
			}
			require.Equal(t, want, calls[i].Load(), "%d of %d", i, n)
		}
	}
}

// Each number has one worker. Workers may stop early.
func TestShare(t *testing.T) {
	for _, workers := range []int{1, 3} {
		for _, n := range []int{0, 1, 63, 64, 65, 1000} {
			for _, some := range []int{1, 64} {
				seen := make([]atomic.Int32, n)
				Share(workers, n, some, func(_ int, mine iter.Seq[int]) {
					for k := range mine {
						seen[k].Add(1)
					}
				})
				for k := range seen {
					require.EqualValues(t, 1, seen[k].Load(), "%d of %d", k, n)
				}
			}
		}
	}
	var left atomic.Int32
	Share(2, 1000, 64, func(_ int, mine iter.Seq[int]) {
		for range mine {
			left.Add(1)
			break
		}
	})
	require.EqualValues(t, 2, left.Load())
}

// The caller gets the panic of a worker, after all have ended.
func TestDoPanics(t *testing.T) {
	for _, n := range []int{1, 3} {
		var ended atomic.Int32
		require.PanicsWithValue(t, "damaged", func() {
			Do(n, func(i int) {
				defer ended.Add(1)
				if i == 0 {
					panic("damaged")
				}
			})
		})
		require.EqualValues(t, n, ended.Load())
	}
}

// Workers that share the numbers of a tree's vertices process each of them once.
func TestPool(t *testing.T) {
	const workers, vertices = 4, 1 << 14
	pool := NewPool(workers)
	var mu sync.Mutex
	seen := make(map[uint32]int)
	Do(workers, func(i int) {
		var todo, mine []uint32
		if i == 0 {
			todo = []uint32{1}
		}
		for {
			for len(todo) > 0 {
				v := todo[len(todo)-1]
				todo = todo[:len(todo)-1]
				mine = append(mine, v)
				for _, child := range [...]uint32{2 * v, 2*v + 1} {
					if child < vertices {
						todo = append(todo, child)
					}
				}
				if half := len(todo) / 2; pool.Wants() && half >= MinBatch && pool.Give(todo[:half:half]) {
					todo = todo[half:]
				}
			}
			pool.Rest()
			if todo = pool.Take(); todo == nil {
				break
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for _, v := range mine {
			seen[v]++
		}
	})
	require.Len(t, seen, vertices-1)
	for v, n := range seen {
		require.Equal(t, 1, n, v)
	}
}

func TestWorkers(t *testing.T) {
	require.Equal(t, 1, Workers(smallHeap-1))
	require.Positive(t, Workers(smallHeap))
}
