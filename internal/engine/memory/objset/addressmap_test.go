//go:build go1.26

package objset_test

import (
	"sync"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/memory/objset"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// TestAddrMap: readers find all addresses that were added before their lookup, while the map grows.
func TestAddrMap(t *testing.T) {
	const n = 10_000
	var m objset.AddressMap[int]
	values := make([]int, n)
	get := func(i int) (*int, bool) { return m.Get(uint64(i+1) * 8) }
	steps := make(chan int)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for added := range steps {
				for i := range n {
					switch v, ok := get(i); {
					case ok && i%3 == 0 && v != nil, ok && i%3 != 0 && v != &values[i], !ok && i < added:
						t.Errorf("%d of %d: %v %v", i, added, v, ok)
						return
					}
				}
			}
		})
	}
	for i := range n {
		if v := &values[i]; i%3 == 0 {
			m.Add(uint64(i+1)*8, nil)
		} else {
			m.Add(uint64(i+1)*8, v)
		}
		select {
		case steps <- i + 1:
		default:
		}
	}
	close(steps)
	readers.Wait()
	require.Equal(t, n, m.Len())
	for i := range n {
		_, ok := get(i)
		require.True(t, ok)
	}
	_, ok := m.Get(0)
	require.False(t, ok)
}
