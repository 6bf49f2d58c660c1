//go:build go1.26

package refscan_test

import (
	"fmt"
	"math/rand"
	randv2 "math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// sized is a large value with one cargo in it. Types of more than 128 KiB with pointers have their
// mask made on demand (go1.26 internal/abi/type.go, TFlagGCMaskOnDemand).
type sized struct {
	_    [30_000]int
	p    *cargo
	all  [3]*cargo
	tail [30_000]*cargo
}

// wide is an element of more than 32 KiB, the largest size class.
type wide struct {
	p *cargo
	_ [5000]int
	q *cargo
}

var (
	gSized   *sized
	gSizeds  []sized
	gWide    []wide
	gBytes   []byte
	gChanBig chan wide
)

func TestLargeObjects(t *testing.T) {
	defer func() { gSized, gSizeds, gWide, gBytes, gChanBig = nil, nil, nil, nil, nil }()
	gSized = &sized{p: newCargo()}
	gSized.all[2], gSized.tail[29_999] = newCargo(), newCargo()
	gSizeds = make([]sized, 3)
	for i := range gSizeds {
		gSizeds[i].p, gSizeds[i].tail[7] = newCargo(), newCargo()
	}
	gWide = make([]wide, 12)
	for i := range gWide {
		gWide[i].p, gWide[i].q = newCargo(), newCargo()
	}
	gBytes = make([]byte, 100<<20)
	gChanBig = make(chan wide, 3)
	gChanBig <- wide{p: newCargo(), q: newCargo()}
	r := holds(t, map[string]int64{
		"gSized.p": 1, "gSized.all[*]": 1, "gSized.tail[*]": 1,
		"gSizeds[*].p": 3, "gSizeds[*].tail[*]": 3, "gWide[*].p": 12, "gWide[*].q": 12,
		"gChanBig[*].p": 1, "gChanBig[*].q": 1,
	})
	require.EqualValues(t, 100<<20, at(t, r, "gBytes").Bytes)
	require.Equal(t, "[]uint8", at(t, r, "gBytes").Type)
}

var (
	gHuge    map[int]*cargo
	gGrowing map[string]*cargo
	gShrunk  map[int]*cargo
)

//go:noinline
func iterate(m map[string]*cargo, ready func(), stop <-chan struct{}) (n int) {
	for k, v := range m {
		if n++; n == 1 {
			for i := range 3000 { // grows and splits the tables under the iterator
				m[fmt.Sprint("added ", i)] = newCargo()
			}
			ready()
			<-stop
		}
		n += len(k) + v.id
	}
	return n
}

func TestHardMaps(t *testing.T) {
	defer func() { gHuge, gGrowing, gShrunk = nil, nil, nil }()
	gHuge = make(map[int]*cargo)
	for i := range 300_000 {
		gHuge[i] = &cargo{id: i}
	}
	gGrowing = make(map[string]*cargo)
	for i := range 500 {
		gGrowing[fmt.Sprint("first ", i)] = newCargo()
	}
	gShrunk = make(map[int]*cargo)
	for i := range 20_000 {
		gShrunk[i] = newCargo()
	}
	for i := range 19_990 {
		delete(gShrunk, i)
	}
	background(t, func(ready func(), stop <-chan struct{}) { iterate(gGrowing, ready, stop) })
	r := holds(t, map[string]int64{"gHuge[*]": 300_000, "gGrowing[*]": 3499, "iterate.v": 1, "gShrunk[*]": 10})
	require.EqualValues(t, 10, at(t, r, "gShrunk").Elems)
}

func TestParallelCaptures(t *testing.T) {
	var wg sync.WaitGroup
	errs := make(chan error, 4)
	for range 4 {
		wg.Go(func() {
			s, err := refscan.Capture()
			if err != nil {
				errs <- err
				return
			}
			r, err := s.Scan()
			if err == nil && r.Totals.ExtraBytes != 0 {
				err = fmt.Errorf("%+v", r.Totals)
			}
			if err != nil {
				errs <- err
			}
			if err := s.Close(); err != nil {
				errs <- err
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
}

var (
	gAlike      []any
	gAlikeLocal []any
)

//go:noinline
func localOne() any {
	type local struct{ p, q *cargo }
	return &local{newCargo(), newCargo()}
}

//go:noinline
func localTwo() any {
	type local struct {
		_    int
		list []*cargo
	}
	return &local{list: []*cargo{newCargo()}}
}

// source is a source of random numbers for both packages.
type source struct{ p *cargo }

func (s *source) Int63() int64   { return int64(s.p.id) }
func (s *source) Seed(n int64)   { s.p.id = int(n) }
func (s *source) Uint64() uint64 { return uint64(s.p.id) }

func TestTypesNamedAlike(t *testing.T) {
	defer func() { gAlike, gAlikeLocal = nil, nil }()
	// Both are "rand.Rand" to package reflect, and differ in layout.
	gAlike = []any{rand.New(&source{newCargo()}), randv2.New(&source{newCargo()})}
	gAlikeLocal = []any{localOne(), localTwo()}
	r := holds(t, map[string]int64{
		"gAlike[*].src.p":  2,
		"gAlikeLocal[*].p": 1, "gAlikeLocal[*].q": 1, "gAlikeLocal[*].list[*]": 1,
	})
	types := make(map[string]bool)
	for _, n := range at(t, r, "gAlike").Children {
		types[n.Type] = true
	}
	require.Equal(t, map[string]bool{"*math/rand.Rand": true, "*math/rand/v2.Rand": true}, types)
}

func TestSynctestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		go waitHolding(newCargo(), func() {}, stop)
		synctest.Wait()
		holds(t, map[string]int64{"waitHolding.p": 1})
		close(stop)
	})
	holds(t, map[string]int64{})
}

// Goroutines come and go, so that some have not run yet when the process is frozen.
func TestUnstartedGoroutines(t *testing.T) {
	stop := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			var batch sync.WaitGroup
			for range 100 {
				p := newCargo()
				batch.Go(func() { use(p) })
			}
			batch.Wait()
		}
	})
	for range 5 {
		s, err := refscan.Capture(refscan.WithoutSettling())
		require.NoError(t, err)
		r, err := s.Scan()
		require.NoError(t, err)
		require.NoError(t, s.Close())
		require.Zero(t, r.Totals.ExtraBytes)
	}
	close(stop)
	ended.Wait()
}

type withFinalizer struct {
	p    *cargo
	name *cargo
}

// Finalizers and cleanups that wait in their queues behind one that does not return.
func TestQueuedFinalizersAndCleanups(t *testing.T) {
	stop := make(chan struct{})
	var blocked sync.WaitGroup
	blocked.Add(1)
	runtime.SetFinalizer(&withFinalizer{p: newCargo()}, func(*withFinalizer) {
		blocked.Done()
		<-stop
	})
	runtime.GC()
	blocked.Wait()
	for range 10 {
		runtime.SetFinalizer(&withFinalizer{p: newCargo(), name: newCargo()}, func(f *withFinalizer) { use(f.p) })
	}
	runtime.GC()
	s, err := refscan.Capture(refscan.WithoutSettling())
	require.NoError(t, err)
	r, err := s.Scan()
	require.NoError(t, err)
	require.NoError(t, s.Close())
	found := cargoes(t, r)
	t.Log(found)
	close(stop)
	time.Sleep(10 * time.Millisecond)
	sound(t, r)
	require.EqualValues(t, 10, found["finalizer(*"+pkg+"withFinalizer).name"])
}
