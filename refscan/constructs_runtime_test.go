package refscan_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unique"
	"weak"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

var (
	gTimerFunc   *time.Timer
	gTimerHeld   struct{ t *time.Timer }
	gAfterChan   <-chan time.Time
	gTick        *time.Ticker
	gTimerPlain  *time.Timer
	gTimerMethod *time.Timer
)

type alarmed struct{ p *cargo }

func (a *alarmed) ring() { use(a.p) }

// Timers with functions are made to fire at the end. A stopped timer may stay in the runtime's
// heap, with what it refers to, until that heap is cleaned (go1.26 runtime/time.go,
// timers.cleanHead).
func TestTimers(t *testing.T) {
	t.Run("AfterFunc", func(t *testing.T) {
		p := newCargo()
		gTimerFunc = time.AfterFunc(time.Hour, func() { use(p) })
		defer func() { gTimerFunc.Reset(0); gTimerFunc = nil }()
		r := holds(t, map[string]int64{"gTimerFunc.timer.arg.p": 1})
		require.Zero(t, untypedBelow(at(t, r, "gTimerFunc")))
	})
	t.Run("AfterFunc that nobody holds", func(t *testing.T) {
		p := newCargo()
		reset := make(chan func(time.Duration) bool, 1)
		func() { reset <- time.AfterFunc(time.Hour, func() { use(p) }).Reset }()
		f := <-reset
		holds(t, map[string]int64{"TestTimers.func2.f.$recv.timer.arg.p": 1})
		f(0)
	})
	t.Run("AfterFunc of a method value", func(t *testing.T) {
		gTimerMethod = time.AfterFunc(time.Hour, (&alarmed{newCargo()}).ring)
		defer func() { gTimerMethod.Reset(0); gTimerMethod = nil }()
		holds(t, map[string]int64{"gTimerMethod.timer.arg.$recv.p": 1})
	})
	t.Run("After", func(t *testing.T) {
		gAfterChan = time.After(time.Hour)
		defer func() { gAfterChan = nil }()
		require.Zero(t, untypedBelow(at(t, holds(t, map[string]int64{}), "gAfterChan")))
	})
	t.Run("Ticker", func(t *testing.T) {
		gTick = time.NewTicker(time.Hour)
		defer func() { gTick.Stop(); gTick = nil }()
		require.Zero(t, untypedBelow(at(t, holds(t, map[string]int64{}), "gTick")))
	})
	t.Run("Timer", func(t *testing.T) {
		gTimerPlain, gTimerHeld.t = time.NewTimer(time.Hour), time.NewTimer(time.Hour)
		defer func() { gTimerPlain, gTimerHeld.t = nil, nil }()
		r := holds(t, map[string]int64{})
		require.Zero(t, untypedBelow(at(t, r, "gTimerPlain")))
		require.Zero(t, untypedBelow(at(t, r, "gTimerHeld")))
	})
}

// finalized has a finalizer; the objects that it refers to stay alive with it.
type finalized struct {
	p    *cargo
	self *finalized
}

var gFinalized *finalized

func TestFinalizers(t *testing.T) {
	t.Run("closure", func(t *testing.T) {
		p := newCargo()
		gFinalized = &finalized{p: newCargo()}
		defer func() { runtime.SetFinalizer(gFinalized, nil); gFinalized = nil }()
		runtime.SetFinalizer(gFinalized, func(*finalized) { use(p) })
		holds(t, map[string]int64{"gFinalized.p": 1, "finalizer(*" + pkg + "finalized).$fn.p": 1})
	})
	t.Run("cycle", func(t *testing.T) {
		// The collector never finds such an object dead.
		ran := make(chan struct{})
		cyclic := makeCycle(func(*finalized) { close(ran) })
		defer func() {
			f := cyclic.Value()
			runtime.SetFinalizer(f, nil)
			f.self = nil
		}()
		r := holds(t, map[string]int64{"finalizer(*" + pkg + "finalized).p": 1})
		for _, n := range r.Roots {
			if n.Name == "finalizer(*"+pkg+"finalized)" {
				require.Zero(t, untypedBelow(n))
				require.EqualValues(t, refscan.RootFinalizer, n.Root.Kind)
			}
		}
		select {
		case <-ran:
			t.Error("the finalizer of a cycle ran")
		default:
		}
	})
}

// A phoenix is found dead by each collection, and its finalizer keeps it alive.
type phoenix struct{ p *cargo }

var burning atomic.Bool

func (f *phoenix) rise() {
	if burning.Load() {
		runtime.SetFinalizer(f, (*phoenix).rise)
	}
}

//go:noinline
func makePhoenixes(n int) {
	for range n {
		(&phoenix{newCargo()}).rise()
	}
}

// TestFinalizersThatSetThemselvesAgain keep objects that no root reaches.
func TestFinalizersThatSetThemselvesAgain(t *testing.T) {
	burning.Store(true)
	makePhoenixes(7)
	defer runtime.GC()
	defer burning.Store(false)
	for range 3 {
		s, err := refscan.Capture(refscan.WithLog(t.Logf))
		require.NoError(t, err)
		r, err := s.Scan(refscan.WithRetained())
		require.NoError(t, err)
		require.NoError(t, s.Close())
		sound(t, r)
		const name = "finalizer(*" + pkg + "phoenix)"
		require.Equal(t, map[string]int64{name + ".p": 7}, cargoes(t, r))
		found := false
		for _, n := range r.Roots {
			if n.Name != name || n.Objects == 0 {
				continue
			}
			found = true
			require.Equal(t, "*"+pkg+"phoenix", n.Type)
			require.EqualValues(t, 7, n.Objects)
			objects, _ := n.Total()
			require.EqualValues(t, 3*7, objects, "with their cargoes and those's data")
			require.Equal(t, objects, n.RetainedObjects)
			require.Zero(t, untypedBelow(n))
		}
		require.True(t, found)
	}
}

//go:noinline
func makeCycle(finalizer func(*finalized)) weak.Pointer[finalized] {
	f := &finalized{p: newCargo()}
	f.self = &finalized{self: f}
	runtime.SetFinalizer(f, finalizer)
	return weak.Make(f)
}

type owned struct{ _ [4]int }

// resource closes itself in a cleanup.
type resource struct{ p *cargo }

func (r *resource) release(p *cargo) { r.p = p }
func releaseAll(list []*cargo)       { use(list[0]) }

// cached adds a generic cleanup, as a cache does that forgets freed keys.
//
//go:noinline
func cached[K any](o *owned, key K, forget func(K)) {
	runtime.AddCleanup(o, func(k K) { forget(k) }, key)
}

func TestCleanups(t *testing.T) {
	attached(t, "pointer argument", map[string]int64{"$arg.$val": 1}, func(o *owned) { runtime.AddCleanup(o, use, newCargo()) })
	attached(t, "struct argument", map[string]int64{"$arg.p": 1}, func(o *owned) {
		runtime.AddCleanup(o, func(p firstFunc) { use(p.p) }, firstFunc{p: newCargo()})
	})
	attached(t, "slice argument", map[string]int64{"$arg.$val[*]": 2}, func(o *owned) {
		runtime.AddCleanup(o, releaseAll, []*cargo{newCargo(), newCargo()})
	})
	attached(t, "interface argument", map[string]int64{"$arg.$val": 1}, func(o *owned) {
		runtime.AddCleanup(o, func(v any) { use(v.(*cargo)) }, any(newCargo()))
	})
	attached(t, "unused argument", map[string]int64{"$arg.$val": 1}, func(o *owned) {
		runtime.AddCleanup(o, func(*cargo) {}, newCargo())
	})
	attached(t, "captured variable", map[string]int64{"$fn.p": 1}, func(o *owned) {
		p := newCargo()
		runtime.AddCleanup(o, func(int) { use(p) }, 1)
	})
	attached(t, "method value", map[string]int64{"$fn.$recv.p": 1, "$arg.$val": 1}, func(o *owned) {
		runtime.AddCleanup(o, (&resource{newCargo()}).release, newCargo())
	})
	attached(t, "method expression", map[string]int64{"$arg.$val.p": 1}, func(o *owned) {
		runtime.AddCleanup(o, (*alarmed).ring, &alarmed{newCargo()})
	})
	attached(t, "generic", map[string]int64{"$arg.$val": 1}, func(o *owned) { cached(o, newCargo(), use) })
}

// attached tests what a cleanup keeps.
func attached(t *testing.T, construct string, want map[string]int64, add func(o *owned)) {
	t.Helper()
	t.Run(construct, func(t *testing.T) {
		t.Helper()
		const root = "cleanup(*" + pkg + "owned)"
		paths := make(map[string]int64)
		for path, n := range want {
			paths[root+"."+path] = n
		}
		o := new(owned)
		add(o)
		r := holds(t, paths)
		for _, n := range r.Roots {
			if n.Name == root {
				require.Zero(t, untypedBelow(n))
			}
		}
		runtime.KeepAlive(o)
	})
}

func TestQueuedCleanups(t *testing.T) {
	stop := make(chan struct{})
	var blocked, ended sync.WaitGroup
	// As many as there are goroutines that run cleanups, so that further cleanups stay in the
	// queue.
	n := runtime.GOMAXPROCS(0)*4 + 4
	var once sync.Once
	blocked.Add(1)
	for range n {
		ended.Add(1)
		runtime.AddCleanup(new(owned), func(int) {
			once.Do(blocked.Done)
			<-stop
			ended.Done()
		}, 1)
	}
	runtime.GC()
	blocked.Wait()
	for range 100 {
		ended.Add(1)
		runtime.AddCleanup(new(owned), func(p *cargo) { use(p); ended.Done() }, newCargo())
	}
	runtime.GC()
	s, err := refscan.Capture(refscan.WithoutSettling())
	require.NoError(t, err)
	r, err := s.Scan()
	require.NoError(t, err)
	require.NoError(t, s.Close())
	found := cargoes(t, r)
	close(stop)
	ended.Wait()
	t.Log(found)
	sound(t, r)
	require.GreaterOrEqual(t, found["cleanup queue.$arg.$val"], int64(100), "and what tests before this one left behind")
}

var (
	gWeakPointer weak.Pointer[cargo]
	gWeakMap     map[weak.Pointer[cargo]]*cargo
	gHandle      unique.Handle[string]
	gHandles     []unique.Handle[uniqueKey]
	gPinner      runtime.Pinner
)

// testCgoHandle is nil without cgo, where runtime/cgo cannot be linked.
var testCgoHandle func(t *testing.T)

type uniqueKey struct {
	name string
	n    int
}

func TestHandles(t *testing.T) {
	t.Run("weak.Pointer", func(t *testing.T) {
		gWeakPointer = weak.Make(newCargo())
		r := holds(t, map[string]int64{})
		require.Zero(t, untypedBelow(at(t, r, "gWeakPointer")))
		require.Nil(t, gWeakPointer.Value(), "a weak pointer keeps nothing")
	})
	keeps(t, "weak.Pointer as a key", map[string]int64{"gWeakMap[*]": 3}, func() {
		gWeakMap = make(map[weak.Pointer[cargo]]*cargo)
		for range 3 {
			gWeakMap[weak.Make(newCargo())] = newCargo()
		}
	}, &gWeakMap)
	t.Run("unique.Handle", func(t *testing.T) {
		defer func() { gHandle, gHandles = unique.Handle[string]{}, nil }()
		gHandle = unique.Make("a string of its own: " + t.Name())
		for i := range 20 {
			gHandles = append(gHandles, unique.Make(uniqueKey{"key of " + t.Name(), i}))
		}
		r := holds(t, map[string]int64{})
		require.Zero(t, untypedBelow(at(t, r, "gHandle")))
		require.Zero(t, untypedBelow(at(t, r, "gHandles")))
		require.EqualValues(t, 20, at(t, r.Fold(), "gHandles", "[*].value").Objects)
	})
	t.Run("runtime.Pinner", func(t *testing.T) {
		gPinner.Pin(newCargo())
		gPinner.Pin(newCargo())
		r := holds(t, map[string]int64{})
		require.EqualValues(t, 4, untypedBelow(at(t, r, "gPinner")), "a Pinner holds unsafe.Pointers: two cargoes and their data")
		gPinner.Unpin()
		holds(t, map[string]int64{})
	})
	if testCgoHandle != nil {
		t.Run("cgo.Handle", testCgoHandle)
	}
}
