//go:build amd64 || arm64

package liveread_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// watchedBlob has the size of a size class that nothing else in this test uses.
type watchedBlob struct {
	_ *watchedBlob
	_ [200]byte // 208 bytes in all
}

var (
	watchedBlobs, otherBlobs []*watchedBlob
	watchedMap               map[int]int
	watchedValues            []*byte
	watchedTimers            []*time.Timer
	watchedLarge             []byte
	watchedArray             []int
)

// newcomersOf counts the objects that are new after f. f gets a function to call when it has
// allocated. Other goroutines of the test binary may add objects.
func newcomersOf(t *testing.T, f func(passed func())) proof.Newcomers {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // else one may begin just before that of the count
	w, err := proof.StartWatch(context.Background(), func(string, ...any) {})
	require.NoError(t, err)
	defer w.Close()
	f(w.Passed)
	n, err := w.Newcomers(context.Background())
	require.NoError(t, err)
	for range 3 { // what pools and ending goroutines keep goes
		var again proof.Newcomers
		again, err = w.Newcomers(context.Background())
		require.NoError(t, err)
		n.Objects, n.Bytes, n.TinyBlocks = min(n.Objects, again.Objects), min(n.Bytes, again.Bytes), min(n.TinyBlocks, again.TinyBlocks)
		n.Goroutines, n.Timers, n.MapEntries = min(n.Goroutines, again.Goroutines), min(n.Timers, again.Timers), min(n.MapEntries, again.MapEntries)
		n.Gone, n.Replaced = again.Gone, again.Replaced
	}
	return n
}

// few is how many other objects of the test binary may be new or gone.
const few = 12

const anyNumber = -1

func requireAbout(t *testing.T, want, got int64, what string) {
	t.Helper()
	require.GreaterOrEqual(t, got, want, what)
	require.LessOrEqual(t, got, want+few, what)
}

// resurrected has objects that a finalizer keeps.
var resurrected struct {
	sync.Mutex
	blobs []*watchedBlob
}

func resurrect(b *watchedBlob) {
	resurrected.Lock()
	defer resurrected.Unlock()
	resurrected.blobs = append(resurrected.blobs, b)
}

func blobs(n int) (made []*watchedBlob) {
	made = make([]*watchedBlob, 0, n)
	for range n {
		made = append(made, &watchedBlob{})
	}
	return made
}

// New objects are counted, whatever other objects are gone.
func TestWatchCounts(t *testing.T) {
	t.Cleanup(func() {
		watchedBlobs, otherBlobs, watchedMap, watchedValues, watchedLarge, watchedArray = nil, nil, nil, nil, nil, nil
		for _, timer := range watchedTimers {
			timer.Stop()
		}
		watchedTimers = nil
	})
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	setup := func() {
		watchedBlobs, otherBlobs = make([]*watchedBlob, 0, 1000), blobs(400)
		watchedMap = make(map[int]int, 5000)
		watchedValues = make([]*byte, 0, 1000)
		watchedTimers = nil
		for range 50 {
			timer := time.AfterFunc(time.Hour, func() {})
			timer.Stop()
			watchedTimers = append(watchedTimers, timer)
		}
		watchedLarge, watchedArray = make([]byte, 1<<20), make([]int, 100)
		for i := range 500 {
			watchedMap[-1-i] = i
		}
	}
	keep := func(n int) { watchedBlobs = append(watchedBlobs, blobs(n)...) }
	for _, tt := range []struct {
		name string
		do   func(passed func())
		want proof.Newcomers
	}{
		{"nothing", func(func()) {}, proof.Newcomers{}},
		{"garbage", func(func()) { blobs(1000) }, proof.Newcomers{}},
		{"objects", func(func()) { keep(100) }, proof.Newcomers{Objects: 100}},
		{"as many are gone", func(func()) { keep(100); clear(otherBlobs[:100]) }, proof.Newcomers{Objects: 100}},
		{"in the places of others", func(passed func()) {
			clear(otherBlobs[:100])
			runtime.GC()
			passed()
			keep(100)
		}, proof.Newcomers{Objects: 100, Gone: 100, Replaced: 100}},
		{"after several collections", func(passed func()) {
			for i := range 10 {
				clear(otherBlobs[20*i : 20*i+20])
				runtime.GC()
				passed()
				keep(20)
			}
		}, proof.Newcomers{Objects: 200, Gone: 200, Replaced: 200}},
		{"spare slots of a map", func(func()) {
			for i := range 300 {
				watchedMap[i] = i
			}
		}, proof.Newcomers{MapEntries: 300}},
		{"entries that replace others", func(func()) {
			for i := range 300 {
				delete(watchedMap, -1-i)
				watchedMap[i] = i
			}
		}, proof.Newcomers{MapEntries: anyNumber}}, // one table has more, and another one less
		{"values that share blocks", func(func()) {
			for i := range 800 {
				b := new(byte)
				*b = byte(i)
				watchedValues = append(watchedValues, b)
			}
		}, proof.Newcomers{Objects: 50, TinyBlocks: 50}},
		{"a large object", func(passed func()) { watchedLarge = make([]byte, 2<<20); passed() }, proof.Newcomers{Objects: 1, Bytes: 2 << 20, Gone: 1}},
		{"a larger array", func(func()) { watchedArray = append(watchedArray, make([]int, 1000)...) }, proof.Newcomers{Objects: 1, Bytes: 1100 * 8, Gone: 1}},
		{"goroutines", func(func()) {
			for range 30 {
				go func() { <-end }()
			}
		}, proof.Newcomers{Goroutines: 30}},
		{"timers that are set again", func(func()) {
			for _, timer := range watchedTimers {
				timer.Reset(time.Hour)
			}
		}, proof.Newcomers{Timers: 50}},
		{"what its finalizer keeps", func(func()) {
			for range 40 {
				runtime.SetFinalizer(&watchedBlob{}, resurrect)
			}
		}, proof.Newcomers{Objects: 40}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			setup()
			runtime.GC()
			n := newcomersOf(t, tt.do)
			if tt.want.Bytes == 0 {
				tt.want.Bytes = n.Bytes
			}
			// With -race, values have blocks of their own; goroutines have closures.
			if tt.want.TinyBlocks == 0 && tt.want.Goroutines == 0 {
				requireAbout(t, tt.want.Objects, n.Objects, "objects")
				requireAbout(t, 0, n.TinyBlocks, "blocks of small values")
			} else {
				require.GreaterOrEqual(t, n.Objects, tt.want.Objects, "objects")
			}
			require.GreaterOrEqual(t, n.Bytes, tt.want.Bytes, "bytes")
			if tt.want.MapEntries != anyNumber {
				requireAbout(t, tt.want.MapEntries, n.MapEntries, "entries")
			}
			requireAbout(t, tt.want.Goroutines, n.Goroutines, "goroutines")
			requireAbout(t, tt.want.Timers, n.Timers, "timers")
			require.GreaterOrEqual(t, n.Gone, tt.want.Gone, "gone")
			require.GreaterOrEqual(t, n.Replaced, tt.want.Replaced, "replaced")
		})
	}
}

// The collector keeps the block of the last small values. It is new if one of them is kept, and
// only then.
func TestWatchLooksIntoTheLastSmallBlock(t *testing.T) {
	t.Cleanup(func() { watchedValues = nil })
	watchedValues = make([]*byte, 0, 1000)
	newBlocks := func(f func()) int64 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // each processor has a last block
		w, err := proof.StartWatch(context.Background(), func(string, ...any) {})
		require.NoError(t, err)
		defer w.Close()
		f()
		n, err := w.Newcomers(context.Background())
		require.NoError(t, err)
		return n.TinyBlocks
	}
	keep := func() { watchedValues = append(watchedValues, new(byte)) }
	drop := func() { keep(); watchedValues[len(watchedValues)-1] = nil }
	require.GreaterOrEqual(t, newBlocks(func() { drop(); keep(); drop() }), int64(1))
	blocks := int64(1)
	for range 10 { // another goroutine may have kept one
		blocks = min(blocks, newBlocks(drop))
	}
	require.Zero(t, blocks)
}

// If several collections pass unnoticed, old objects cannot be distinguished from new ones in their
// places, and the result is an error.
func TestWatchMissesACollection(t *testing.T) {
	w, err := proof.StartWatch(context.Background(), func(string, ...any) {})
	require.NoError(t, err)
	defer w.Close()
	runtime.GC()
	runtime.GC()
	w.Passed()
	_, err = w.Newcomers(context.Background())
	var u *snapshot.Unavailable
	require.True(t, errors.As(err, &u), err)
	require.Contains(t, err.Error(), "more often than can be followed")
}

// Random programs keep and drop blobs, and collect garbage at any time. A list of the blobs that
// each has kept tells which are new.
func TestWatchAgainstAList(t *testing.T) {
	t.Cleanup(func() { watchedBlobs = nil })
	for round := range require.Rounds(4, 100) {
		random := rand.New(rand.NewPCG(1, uint64(round)))
		watchedBlobs = blobs(random.IntN(2000))
		isNew := make([]bool, len(watchedBlobs), 1<<14)
		watchedBlobs = slices.Grow(watchedBlobs, 1<<14)
		kept := int64(0)
		n := newcomersOf(t, func(passed func()) {
			for range random.IntN(60) {
				switch random.IntN(5) {
				case 0:
					runtime.GC()
				case 1, 2:
					for range random.IntN(100) {
						watchedBlobs, isNew = append(watchedBlobs, &watchedBlob{}), append(isNew, true)
						kept++
					}
				case 3:
					for range min(random.IntN(100), len(watchedBlobs)) {
						i := random.IntN(len(watchedBlobs))
						last := len(watchedBlobs) - 1
						if isNew[i] {
							kept--
						}
						watchedBlobs[i], isNew[i] = watchedBlobs[last], isNew[last]
						watchedBlobs[last] = nil
						watchedBlobs, isNew = watchedBlobs[:last], isNew[:last]
					}
				case 4:
					blobs(random.IntN(500))
				}
				passed()
			}
		})
		requireAbout(t, kept, n.Objects, "objects")
	}
}
