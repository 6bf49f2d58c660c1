package refscan_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// A page is so large that the allocator records its type, and so is an array of sheets; a single
// sheet is too small.
type (
	page  struct{ sheets [100]*sheet }
	sheet struct{ p *page }
)

var missed struct {
	pages  []*page
	sheets []sheet
	sheet  *sheet
	text   []byte
}

func TestTypesOfMissedObjects(t *testing.T) {
	missed.pages, missed.sheets, missed.sheet, missed.text = []*page{{}, {}}, make([]sheet, 200), &sheet{&page{}}, make([]byte, 100)
	defer func() { missed.pages, missed.sheets, missed.sheet, missed.text = nil, nil, nil, nil }()
	s, err := refscan.Capture(refscan.WithLog(t.Logf))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	at := func(p unsafe.Pointer) uint64 { return uint64(uintptr(p)) }
	before, err := s.MissedTypes()
	require.NoError(t, err)
	after, err := s.MissedTypes(at(unsafe.Pointer(missed.pages[0])), at(unsafe.Pointer(missed.pages[1])), at(unsafe.Pointer(&missed.sheets[0])),
		at(unsafe.Pointer(missed.sheet)), at(unsafe.Pointer(&missed.text[0])))
	require.NoError(t, err)
	objects := func(nodes []*refscan.Node, typ string) (n int64) {
		for _, m := range nodes {
			if m.Type == typ {
				n += m.Objects
			}
		}
		return n
	}
	for typ, want := range map[string]int64{"*" + pkg + "page": 2, "[]" + pkg + "sheet": 1, "": 2} {
		require.Equal(t, want, objects(after, typ)-objects(before, typ), typ)
	}
}

// Freezing takes processors away, and with them their lists of timers, of any length. These lists
// are not missed.
func TestTimersOfManyProcessors(t *testing.T) {
	var stop atomic.Bool
	var left sync.WaitGroup // other tests look at timers, too
	defer left.Wait()
	defer stop.Store(true)
	for range 8000 {
		left.Add(1)
		var again func()
		again = func() {
			if stop.Load() {
				left.Done()
				return
			}
			time.AfterFunc(100*time.Millisecond, again)
		}
		again()
	}
	for range 8 {
		s, err := refscan.Capture(refscan.WithLog(t.Logf))
		require.NoError(t, err)
		r, err := s.Scan()
		require.NoError(t, err)
		require.NoError(t, s.Close())
		for _, m := range r.Missed {
			require.NotContains(t, m.Type, "timerWhen")
		}
	}
}
