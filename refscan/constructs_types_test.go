package refscan_test

import (
	"container/list"
	"container/ring"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"
	"unique"
	"unsafe"
	"weak"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// pair is a generic container; all pointer types share its code.
type pair[K comparable, V any] struct {
	m    map[K]V
	list []V
	next *pair[K, V]
}

//go:noinline
func (p *pair[K, V]) add(k K, v V) func() V {
	if p.m == nil {
		p.m = make(map[K]V)
	}
	p.m[k] = v
	return func() V { return v }
}

// onlyFunc and onlyPointer are stored in an interface's data word itself.
type (
	onlyFunc    struct{ f func() *cargo }
	onlyPointer struct{ p *cargo }
	firstFunc   struct {
		f func() *cargo
		p *cargo
	}
	getter interface{ get() *cargo }
)

func (o onlyPointer) get() *cargo { return o.p }

var (
	gPair        pair[string, *cargo]
	gPairFunc    func() *cargo
	gPairStruct  *pair[int, onlyPointer]
	gList        list.List
	gRing        *ring.Ring
	gOnceValue   func() *cargo
	gOnlyFunc    any
	gOnlyPointer any
	gGetter      getter
	gFirstFunc   any
	gAnys        []any
	gArrayOfAny  [3]any
	gBuffered    chan onlyPointer
	gAnyChan     chan any
	gCancels     context.Context
	gWeak        weak.Pointer[cargo]
	gUnique      unique.Handle[string]
	gUnsafe      unsafe.Pointer
	gUintptr     uintptr
	gTicker      *time.Ticker
	gAfter       <-chan time.Time
	gAfterFunc   *time.Timer
	gMapOfFuncs  map[int]func()
	gEmbedded    struct{ *onlyPointer }
	gPointers    ***cargo
	gPool        sync.Pool
	gRange       func(func(int, *cargo) bool)
)

//go:noinline
func fillTypes() {
	f := gPair.add("a key", newCargo())
	gPairFunc = f
	gPair.list = []*cargo{newCargo(), newCargo()}
	gPair.next = &pair[string, *cargo]{list: []*cargo{newCargo()}}
	gPairStruct = &pair[int, onlyPointer]{}
	gPairStruct.add(1, onlyPointer{newCargo()})
	gList.Init()
	for range 50 {
		gList.PushBack(newCargo())
	}
	gRing = ring.New(20)
	for range 20 {
		gRing.Value = newCargo()
		gRing = gRing.Next()
	}
	gOnceValue = sync.OnceValue(newCargo)
	gOnceValue()
	captured := newCargo()
	get := func() *cargo { return captured }
	gOnlyFunc = onlyFunc{get}
	gOnlyPointer = onlyPointer{newCargo()}
	gGetter = onlyPointer{newCargo()}
	captured2 := newCargo()
	gFirstFunc = firstFunc{func() *cargo { return captured2 }, newCargo()}
	gAnys = []any{newCargo(), onlyPointer{newCargo()}, firstFunc{p: newCargo()}, map[int]*cargo{1: newCargo()}, []*cargo{newCargo()}, 7, "text"}
	gArrayOfAny = [3]any{newCargo(), &onlyPointer{newCargo()}, nil}
	gBuffered = make(chan onlyPointer, 4)
	gBuffered <- onlyPointer{newCargo()}
	gBuffered <- onlyPointer{newCargo()}
	gAnyChan = make(chan any, 4)
	gAnyChan <- newCargo()
	gAnyChan <- onlyPointer{newCargo()}
	gCancels = context.Background()
	for i := range 300 {
		ctx, cancel := context.WithCancel(gCancels)
		_ = cancel // never called, as in a leak
		gCancels = context.WithValue(ctx, named(fmt.Sprint(i)), newCargo())
	}
	gUnsafe = unsafe.Pointer(newCargo())
	gTicker = time.NewTicker(time.Hour)
	gAfter = time.After(time.Hour)
	timed := newCargo()
	gAfterFunc = time.AfterFunc(time.Hour, func() { use(timed) })
	gMapOfFuncs = make(map[int]func())
	for i := range 10 {
		p := newCargo()
		gMapOfFuncs[i] = func() { use(p) }
	}
	gEmbedded.onlyPointer = &onlyPointer{newCargo()}
	p1 := newCargo()
	p2 := &p1
	gPointers = &p2
	inRange := newCargo()
	gRange = func(yield func(int, *cargo) bool) { yield(1, inRange) }
	gUnique = unique.Make(fmt.Sprint("a unique string", time.Now().Year()))
}

func TestTypes(t *testing.T) {
	fillTypes()
	gWeak = weak.Make(newCargo())
	hidden := newCargo()
	gUintptr = uintptr(unsafe.Pointer(hidden))
	defer clearTypes()
	r := holds(t, map[string]int64{
		"gPair.m[*]": 1, "gPair.list[*]": 2, "gPair.next.list[*]": 1, "gPairStruct.m[*].p": 1,
		"gList.root.next.Value": 50, "gOnceValue.d.result": 1, "gRing.Value": 20,
		"gOnlyFunc.captured": 1, "gOnlyPointer": 1, "gGetter": 1, "gFirstFunc.f.captured2": 1, "gFirstFunc.p": 1,
		"gAnys[*]": 2, "gAnys[*].p": 1, "gAnys[*][*]": 1, "gAnys[*].$val[*]": 1, "gArrayOfAny[*]": 1, "gArrayOfAny[*].p": 1,
		"gBuffered[*].p": 2, "gAnyChan[*]": 2, "gCancels.val": 300,
		"gAfterFunc.timer.arg.timed": 1, "gMapOfFuncs[*].p": 10, "gEmbedded.onlyPointer.p": 1, "gPointers": 1, "gRange.inRange": 1,
	})
	// What unsafe types hide has a holder, but no type.
	require.EqualValues(t, 2, untypedBelow(at(t, r, "gUnsafe")))
	for _, root := range []string{"gWeak", "gUnique", "gTicker", "gAfter"} {
		require.Zero(t, untypedBelow(at(t, r, root)), root)
	}
	require.Nil(t, gWeak.Value(), "a weak pointer keeps nothing")
}

// clearTypes drops what fillTypes made.
func clearTypes() {
	gTicker.Stop()
	gAfterFunc.Stop()
	gPair, gPairFunc, gPairStruct = pair[string, *cargo]{}, nil, nil
	gList.Init()
	gRing, gOnceValue, gOnlyFunc, gOnlyPointer, gGetter, gFirstFunc = nil, nil, nil, nil, nil, nil
	gAnys, gArrayOfAny, gBuffered, gAnyChan, gCancels, gUnsafe = nil, [3]any{}, nil, nil, nil, nil
	gTicker, gAfter, gAfterFunc, gMapOfFuncs, gEmbedded.onlyPointer, gPointers, gRange = nil, nil, nil, nil, nil, nil, nil
}

func untypedBelow(n *refscan.Node) int64 {
	sum := n.UntypedObjects
	for _, c := range n.Children {
		sum += untypedBelow(c)
	}
	return sum
}

type scope struct{ p *cargo }

//go:noinline
func fillScope(s *scope) { s.p = newCargo() }

//go:noinline
func fillBig(b *[40]*cargo) {
	for i := range b {
		b[i] = newCargo()
	}
}

//go:noinline
func keep(unsafe.Pointer) {}

//go:noinline
func fillMap(m map[int]*cargo) { m[1] = newCargo() }

// holdSmall has a variable on the heap, which its frame alone refers to.
//
//go:noinline
func holdSmall(ready func(), stop <-chan struct{}) {
	n := uint32(1)
	keepOnHeap(&n)
	ready()
	<-stop
	keepOnHeap(&n)
}

//go:noinline
func keepOnHeap(p *uint32) {
	gAnys = append(gAnys[:0], p)
	gAnys = nil
}

//go:noinline
func holdGeneric[T any](v T, list []T, ready func(), stop <-chan struct{}) (T, []T, any) {
	ready()
	<-stop
	return v, list, any(v)
}

//go:noinline
func holdVariadic(ready func(), stop <-chan struct{}, all ...*cargo) {
	ready()
	<-stop
	use(all[len(all)-1])
}

//go:noinline
func holdStructs(all []wideValue, ready func(), stop <-chan struct{}) {
	ready()
	<-stop
	use(all[len(all)-1].p)
}

//go:noinline
func holdInterface(g getter, v any, ready func(), stop <-chan struct{}) {
	ready()
	<-stop
	use(g.get())
	use(v.(getter).get())
}

// inlinedHolder is inlined into its caller.
func inlinedHolder(ready func(), stop <-chan struct{}) *cargo {
	mine := newCargo()
	ready()
	<-stop
	return mine
}

//go:noinline
func holdFour(a, b, c, d *cargo, ready func(), stop <-chan struct{}) {
	use(b)
	use(d)
	ready()
	<-stop // from here on only two are needed
	use(a)
	use(c)
}

func TestFrameVariables(t *testing.T) {
	t.Run("stack object", func(t *testing.T) {
		var s scope
		fillScope(&s)
		holds(t, map[string]int64{"TestFrameVariables.func1.s.p": 1})
		use(s.p)
	})
	t.Run("large stack object", func(t *testing.T) {
		var b [40]*cargo
		fillBig(&b)
		holds(t, map[string]int64{"TestFrameVariables.func2.b[*]": 40})
		fillBig(&b)
	})
	t.Run("small map", func(t *testing.T) {
		s := struct{ m map[int]*cargo }{make(map[int]*cargo)}
		keep(unsafe.Pointer(&s))
		fillMap(s.m)
		holds(t, map[string]int64{"TestFrameVariables.func3.s.m[*]": 1})
		use(s.m[1])
	})
	t.Run("small map in no variable's place", func(t *testing.T) {
		m := make(map[int]*cargo)
		for i := range 5 {
			m[i] = newCargo()
		}
		if unoptimised() {
			holds(t, map[string]int64{"TestFrameVariables.func4.m[*]": 5})
			use(m[1])
			return
		}
		// The compiler records m nowhere. The function's code names its type.
		holds(t, map[string]int64{"TestFrameVariables.func4.$temporary": 5})
		use(m[1])
	})
	t.Run("dead", func(t *testing.T) {
		p := newCargo()
		use(p)
		holds(t, map[string]int64{})
	})
	t.Run("captured by reference", func(t *testing.T) {
		p := newCargo()
		background(t, func(ready func(), stop <-chan struct{}) {
			p = newCargo()
			ready()
			<-stop
			use(p)
		})
		holds(t, map[string]int64{"TestFrameVariables.func6.1.p": 1})
	})
	const generic = "holdGeneric[go.shape.*uint8]."
	t.Run("of a generic function", func(t *testing.T) {
		background(t, func(ready func(), stop <-chan struct{}) { holdGeneric(newCargo(), []*cargo{newCargo()}, ready, stop) })
		holds(t, map[string]int64{generic + "v": 1, generic + "list[*]": 1})
	})
	t.Run("of a generic function with a type of the same shape", func(t *testing.T) {
		background(t, func(ready func(), stop <-chan struct{}) { holdGeneric(&onlyPointer{newCargo()}, nil, ready, stop) })
		holds(t, map[string]int64{generic + "v.p": 1})
	})
	t.Run("slices on the stack", func(t *testing.T) {
		background(t, func(ready func(), stop <-chan struct{}) {
			holdVariadic(ready, stop, newCargo(), newCargo(), newCargo())
		})
		background(t, func(ready func(), stop <-chan struct{}) {
			holdStructs([]wideValue{{p: newCargo()}, {p: newCargo(), l: []*cargo{newCargo()}}}, ready, stop)
		})
		holds(t, map[string]int64{"holdVariadic.all[*]": 3, "holdStructs.all[*].p": 2, "holdStructs.all[*].l[*]": 1})
	})
	t.Run("of an inlined function", func(t *testing.T) {
		background(t, func(ready func(), stop <-chan struct{}) { use(inlinedHolder(ready, stop)) })
		holds(t, map[string]int64{"inlinedHolder.mine": 1})
	})
	t.Run("spilled at a call", func(t *testing.T) {
		background(t, func(ready func(), stop <-chan struct{}) {
			holdFour(newCargo(), newCargo(), newCargo(), newCargo(), ready, stop)
		})
		holds(t, map[string]int64{"holdFour.a": 1, "holdFour.c": 1})
	})
	t.Run("interface in pieces", func(t *testing.T) {
		background(t, func(ready func(), stop <-chan struct{}) {
			holdInterface(wideValue{p: newCargo(), l: []*cargo{newCargo()}}, onlyPointer{newCargo()}, ready, stop)
		})
		holds(t, map[string]int64{"holdInterface.g.p": 1, "holdInterface.g.l[*]": 1, "holdInterface.v": 1})
	})
	t.Run("slice of the stack", func(t *testing.T) {
		var b [40]*cargo
		fillBig(&b)
		part := b[3:7]
		holds(t, map[string]int64{"TestFrameVariables.func13.b[*]": 40})
		use(part[1])
		fillBig(&b)
	})
	t.Run("small, moved to the heap", func(t *testing.T) {
		for range 4 {
			background(t, holdSmall)
		}
		n := at(t, holds(t, map[string]int64{}), "holdSmall.n")
		require.Equal(t, []int64{4, 16}, []int64{n.Objects, n.Bytes})
	})
}

func TestPoolWithoutSettling(t *testing.T) {
	defer func() { gPool = sync.Pool{} }()
	// Two collections empty a pool: none begins by itself here, and one that is under way is
	// awaited.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC()
	for range 20 {
		gPool.Put(newCargo())
	}
	s, err := refscan.Capture(refscan.WithoutSettling())
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	r, err := s.Scan()
	require.NoError(t, err)
	sound(t, r)
	sum := int64(0)
	for path, n := range cargoes(t, r) {
		require.True(t, strings.HasPrefix(path, "gPool."), path)
		sum += n
	}
	require.Zero(t, untypedBelow(at(t, r, "gPool")))
	require.GreaterOrEqual(t, sum, int64(5), "all 20, but with -race a pool drops some")
}

type owner struct{ _ [4]int }

func TestCleanupArguments(t *testing.T) {
	o := &owner{}
	runtime.AddCleanup(o, func(p *cargo) { use(p) }, newCargo())
	runtime.AddCleanup(o, func(p firstFunc) { use(p.p) }, firstFunc{p: newCargo()})
	captured := newCargo()
	runtime.AddCleanup(o, func(int) { use(captured) }, 1)
	const root = "cleanup(*" + pkg + "owner)."
	holds(t, map[string]int64{root + "$fn.captured": 1, root + "$arg.$val": 1, root + "$arg.p": 1})
	runtime.KeepAlive(o)
}
