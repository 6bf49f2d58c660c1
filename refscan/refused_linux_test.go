//go:build (amd64 || arm64) && go1.26

package refscan_test

import (
	"runtime"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// If memory for any list of a scan is refused, the scan returns an error and releases its memory.
func TestRefusedLists(t *testing.T) {
	emptyCorpus()
	held := newCargo()
	defer runtime.KeepAlive(held)
	s, err := refscan.Capture()
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	lists := countLists(t)
	attempts := map[string]func() error{
		"scan": func() error { _, err := s.Scan(); return err },
		"scan of what is retained": func() error {
			_, err := s.Scan(refscan.WithRetained())
			return err
		},
		"paths": func() error {
			_, err := s.Paths(addressOf(held), refscan.PathQuery{})
			return err
		},
	}
	for name, attempt := range attempts {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, attempt())
			lists.none(t)
			for nth := 0; ; nth++ {
				require.Less(t, nth, 1000)
				lists.refuse(nth)
				err := attempt()
				lists.none(t)
				if lists.refuse(-1) <= nth {
					require.NoError(t, err, "none was refused")
					require.NotZero(t, nth, "it takes no list")
					break
				}
				var unavailable *refscan.UnavailableError
				require.ErrorAs(t, err, &unavailable, "list %d", nth+1)
				assert.Contains(t, unavailable.Error(), "mmap (")
				assert.Contains(t, unavailable.Remedy, "ulimit -v")
			}
		})
	}
}

// A listCounter counts the lists outside the heap, and refuses one of them.
type listCounter struct {
	sync.Mutex
	made    int // since refuse
	refused int // index of the list to refuse since refuse; negative for none
	kept    map[*byte]bool
}

func countLists(t *testing.T) *listCounter {
	c := &listCounter{refused: -1, kept: make(map[*byte]bool)}
	realMap, realUnmap := offheap.Map, offheap.Unmap
	t.Cleanup(func() { offheap.Map, offheap.Unmap = realMap, realUnmap })
	offheap.Map = func(size int) ([]byte, error) {
		c.Lock()
		defer c.Unlock()
		c.made++
		if c.made == c.refused+1 {
			return nil, syscall.ENOMEM
		}
		mem, err := realMap(size)
		if err == nil {
			c.kept[unsafe.SliceData(mem)] = true
		}
		return mem, err
	}
	offheap.Unmap = func(mem []byte) error {
		c.Lock()
		defer c.Unlock()
		err := realUnmap(mem)
		if err == nil {
			delete(c.kept, unsafe.SliceData(mem))
		}
		return err
	}
	return c
}

// refuse makes the nth list from here on fail, and returns how many were made since the last call.
func (c *listCounter) refuse(nth int) (before int) {
	c.Lock()
	defer c.Unlock()
	before, c.made, c.refused = c.made, 0, nth
	return before
}

// none requires that no list is left.
func (c *listCounter) none(t *testing.T) {
	t.Helper()
	c.Lock()
	defer c.Unlock()
	require.Empty(t, c.kept, "lists are left behind")
}
