package offheap_test

import (
	"testing"

	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestNumbersDoNotShareMemory(t *testing.T) {
	var p offheap.Numbers
	defer p.Release()
	for range 3 {
		var lists [][]uint32
		for i, n := range []int{0, 1, 100, offheap.BlockLen, offheap.BlockLen - 1, 2, 1 << 10, offheap.BlockLen / 2, offheap.BlockLen / 2} {
			list := p.Take(n)
			require.Len(t, list, n)
			for k := range list {
				list[k] = uint32(i)
			}
			lists = append(lists, list)
		}
		for i, list := range lists {
			for _, n := range list {
				require.Equal(t, uint32(i), n)
			}
		}
		p.Reset()
	}
	p.Release()
	require.Len(t, p.Take(5), 5, "it can be used again")
}

func TestReusedNumbersTakeNoMemory(t *testing.T) {
	var p offheap.Numbers
	defer p.Release()
	use := func() {
		for range 100 {
			p.Take(offheap.BlockLen / 8)[0] = 1
		}
		p.Reset()
	}
	use()
	require.Zero(t, testing.AllocsPerRun(10, use))
}

func TestFree(t *testing.T) {
	list := offheap.Make(1 << 20)
	require.Len(t, list, 1<<20)
	require.Zero(t, list[1<<20-1])
	list[1<<20-1] = 1
	offheap.Free(list)
	require.Empty(t, offheap.Make(0))
	offheap.Free(nil)
}
