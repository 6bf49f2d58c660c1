//go:build go1.26

package refscan_test

import (
	"fmt"
	"iter"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// background runs f in a goroutine until the test ends. f calls ready when it holds its objects,
// and returns when stop is closed.
func background(t *testing.T, f func(ready func(), stop <-chan struct{})) {
	t.Helper()
	stop, ended := make(chan struct{}), make(chan struct{})
	var ready sync.WaitGroup
	ready.Add(1)
	go func() {
		defer close(ended)
		f(ready.Done, stop)
	}()
	ready.Wait()
	t.Cleanup(func() {
		close(stop)
		<-ended
	})
}

//go:noinline
func descend(n int, bottom func()) int {
	p := newCargo()
	if n <= 1 {
		bottom()
	} else {
		p.id = descend(n-1, bottom)
	}
	return p.id + 1
}

func TestDeepStacks(t *testing.T) {
	for _, depth := range []int64{3000, 20_000} {
		t.Run(fmt.Sprint(depth, " frames of another goroutine"), func(t *testing.T) {
			background(t, func(ready func(), stop <-chan struct{}) {
				descend(int(depth), func() {
					ready()
					<-stop
				})
			})
			holds(t, map[string]int64{"descend.p": depth})
		})
		t.Run(fmt.Sprint(depth, " frames of the caller"), func(t *testing.T) {
			descend(int(depth), func() { holds(t, map[string]int64{"descend.p": depth}) })
		})
	}
}

//go:noinline
func waitHolding(p *cargo, ready func(), stop <-chan struct{}) {
	ready()
	<-stop
	p.id++
}

func TestManyGoroutines(t *testing.T) {
	n := require.Rounds(2_000, 20_000)
	stop := make(chan struct{})
	var ready, ended sync.WaitGroup
	for range n {
		ready.Add(1)
		ended.Go(func() { waitHolding(newCargo(), ready.Done, stop) })
	}
	ready.Wait()
	r := holds(t, map[string]int64{"waitHolding.p": int64(n)})
	for _, root := range r.Roots {
		if root.Name == pkg+"waitHolding.p" {
			require.EqualValues(t, n, root.Root.Goroutines)
		}
	}
	close(stop)
	ended.Wait()
}

//go:noinline
func use(p *cargo) { p.id++ }

// Goroutines that wait in every possible way, each with a cargo that it needs afterwards.

//go:noinline
func holdSend(c chan *cargo) { c <- newCargo() }

//go:noinline
func holdSendStruct(c chan value2) { c <- value2{p: newCargo()} }

type value2 struct {
	_ int
	p *cargo
}

//go:noinline
func holdReceive(c chan int) {
	p := newCargo()
	p.id = <-c
	p.id++
}

//go:noinline
func holdSelect(a, b chan int, c chan *cargo) {
	p := newCargo()
	use(p)
	select {
	case <-a:
	case b <- 1:
	case <-c:
	}
	use(p)
}

//go:noinline
func holdSelectSend(a chan int, c chan *cargo) {
	select {
	case <-a:
	case c <- newCargo():
	}
}

//go:noinline
func holdMutex(mu sync.Locker) {
	p := newCargo()
	mu.Lock()
	use(p)
	mu.Unlock()
}

//go:noinline
func holdRWMutex(mu *sync.RWMutex) {
	p := newCargo()
	mu.RLock()
	p.id++
	mu.RUnlock()
}

//go:noinline
func holdCond(c *sync.Cond, done *bool) {
	p := newCargo()
	c.L.Lock()
	for !*done {
		c.Wait()
	}
	p.id++
	c.L.Unlock()
}

//go:noinline
func holdWaitGroup(wg *sync.WaitGroup) {
	p := newCargo()
	wg.Wait()
	p.id++
}

//go:noinline
func holdSleep(stop *atomic.Bool) {
	p := newCargo()
	for !stop.Load() {
		time.Sleep(10 * time.Millisecond)
	}
	p.id++
}

func TestBlockedGoroutines(t *testing.T) {
	var (
		ended         sync.WaitGroup
		send          = make(chan *cargo)
		sendStruct    = make(chan value2)
		receive       = make(chan int)
		selA, selB    = make(chan int), make(chan int)
		selC, selSend = make(chan *cargo), make(chan *cargo)
		mu            sync.Mutex
		rw            sync.RWMutex
		cond          = sync.NewCond(new(sync.Mutex))
		condDone      bool
		waitFor       sync.WaitGroup
		stopSleep     atomic.Bool
	)
	mu.Lock()
	rw.Lock()
	waitFor.Add(1)
	ended.Go(func() { holdSend(send) })
	ended.Go(func() { holdSendStruct(sendStruct) })
	ended.Go(func() { holdReceive(receive) })
	ended.Go(func() { holdSelect(selA, selB, selC) })
	ended.Go(func() { holdSelectSend(selA, selSend) })
	ended.Go(func() { holdMutex(&mu) })
	ended.Go(func() { holdRWMutex(&rw) })
	ended.Go(func() { holdCond(cond, &condDone) })
	ended.Go(func() { holdWaitGroup(&waitFor) })
	ended.Go(func() { holdSleep(&stopSleep) })
	defer func() {
		<-send
		<-sendStruct
		close(receive)
		close(selA)
		mu.Unlock()
		rw.Unlock()
		cond.L.Lock()
		condDone = true
		cond.L.Unlock()
		cond.Broadcast()
		waitFor.Done()
		stopSleep.Store(true)
		ended.Wait()
	}()
	time.Sleep(20 * time.Millisecond)
	holds(t, map[string]int64{
		"holdSend.$temporary": 1, "holdSendStruct.$temporary.p": 1, "holdReceive.p": 1, "holdSelect.p": 1, "holdSelectSend.$temporary": 1,
		"holdMutex.p": 1, "holdRWMutex.p": 1, "holdCond.p": 1, "holdWaitGroup.p": 1, "holdSleep.p": 1,
	})
}

type cargoQueue chan *cargo

//go:noinline
func sendLast(c chan *cargo) { c <- nil }

//go:noinline
func selectLast(c chan *cargo, other chan int) {
	select {
	case c <- nil:
	case <-other:
	}
}

//go:noinline
func selectOf(c []chan *cargo, other chan int) {
	select {
	case c[0] <- nil:
	case c[1] <- nil:
	case <-c[2]:
	case <-other:
	}
}

// TestChannelsOfBlockedGoroutines tests channels whose goroutines need them no more once they have
// begun to wait, so that only the runtime has them.
func TestChannelsOfBlockedGoroutines(t *testing.T) {
	full := func() chan *cargo {
		c := make(cargoQueue, 2)
		c <- newCargo()
		c <- newCargo()
		return c
	}
	for _, c := range []struct {
		wait string
		in   func(c chan *cargo)
		path string
	}{
		{"send", sendLast, "runtime.chansend.c[*]"},
		{"select", func(c chan *cargo) { selectLast(c, nil) }, "runtime.selectgo.cas0.c[*]"},
		{"select of several", func(c chan *cargo) { selectOf([]chan *cargo{make(chan *cargo), c, nil}, nil) }, "selectOf.$temporary[*]"},
	} {
		t.Run(c.wait, func(t *testing.T) {
			var ended sync.WaitGroup
			hidden := func() uintptr {
				ch := full()
				ended.Go(func() { c.in(ch) })
				return uintptr(reflect.ValueOf(ch).UnsafePointer())
			}()
			defer func() {
				ch := *(*chan *cargo)(unsafe.Pointer(&hidden))
				<-ch
				ended.Wait()
			}()
			time.Sleep(20 * time.Millisecond)
			holds(t, map[string]int64{c.path: 2})
		})
	}
}

type lockedCargo struct {
	name string
	mu   sync.Mutex
	p    *cargo
}

// TestLocksOfBlockedGoroutines tests a mutex that a goroutine has begun to wait for. Only a pointer
// to the mutex keeps the struct that it is a part of.
func TestLocksOfBlockedGoroutines(t *testing.T) {
	var ended sync.WaitGroup
	hidden := func() uintptr {
		l := &lockedCargo{p: newCargo()}
		l.mu.Lock()
		ended.Go(func() { l.mu.Lock() })
		return uintptr(unsafe.Pointer(l))
	}()
	defer func() {
		(*(**lockedCargo)(unsafe.Pointer(&hidden))).mu.Unlock()
		ended.Wait()
	}()
	time.Sleep(20 * time.Millisecond)
	holds(t, map[string]int64{"internal/sync.(*Mutex).lockSlow.m.p": 1})
}

//go:noinline
func spinHolding(stop *atomic.Bool, ready *atomic.Int32, p, q *cargo) int {
	ready.Add(1)
	n := 0
	for !stop.Load() {
		n += p.id
		if n > 1<<30 {
			n = q.id
		}
	}
	return n + q.id + p.id
}

func TestTightLoops(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("one processor: a loop would starve the test")
	}
	var stop atomic.Bool
	var ready atomic.Int32
	var ended sync.WaitGroup
	n := runtime.GOMAXPROCS(0) - 1
	for range n {
		p, q := newCargo(), newCargo()
		ended.Go(func() { spinHolding(&stop, &ready, p, q) })
	}
	for ready.Load() < int32(n) {
		runtime.Gosched()
	}
	defer ended.Wait()
	defer stop.Store(true)
	r := scan(t)
	untyped(t, "", r.Roots)
	sound(t, r)
	// Objects that only registers refer to have a holder but no type; with -race the loop calls
	// functions, and spills.
	found := int64(0)
	for _, root := range r.Roots {
		if strings.HasPrefix(root.Name, pkg+"spinHolding.") {
			objects, _ := root.Total()
			found += objects
		}
	}
	require.GreaterOrEqual(t, found, int64(4*n), "two cargoes a goroutine, and their data")
}

//go:noinline
func panicHolding(p *cargo, deferred func()) {
	q := newCargo()
	defer func() {
		deferred()
		q.id++
		if recover() == nil {
			q.id++
		}
	}()
	if p.id == 0 {
		panic(p)
	}
}

//go:noinline
func nilHolding(deferred func()) (n int) {
	q := newCargo()
	defer func() {
		deferred()
		n += q.id
		_ = recover()
	}()
	var p *cargo
	q.id++
	return p.id
}

//go:noinline
func goexitHolding(deferred func()) {
	q := newCargo()
	defer func() {
		deferred()
		q.id++
	}()
	runtime.Goexit()
}

//go:noinline
func deferLoop(n int, ready func(), stop <-chan struct{}) {
	for range n {
		p := newCargo()
		defer func() { p.id++ }()
	}
	last := newCargo()
	defer func() { last.id++ }()
	ready()
	<-stop
}

func TestDeferredCalls(t *testing.T) {
	t.Run("panic", func(t *testing.T) {
		panicHolding(newCargo(), func() {
			holds(t, map[string]int64{"panicHolding.func1.q": 1, "runtime.gopanic.p.arg": 1})
		})
	})
	t.Run("nil dereference", func(t *testing.T) {
		nilHolding(func() { holds(t, map[string]int64{"nilHolding.func1.q": 1}) })
	})
	t.Run("nil dereference recovered before", func(t *testing.T) {
		nilHolding(func() {})
		p := newCargo()
		holds(t, map[string]int64{"TestDeferredCalls.func3.p": 1})
		p.id++
	})
	t.Run("goexit", func(t *testing.T) {
		done := make(chan bool)
		go func() {
			defer close(done)
			goexitHolding(func() { holds(t, map[string]int64{"goexitHolding.func1.q": 1}) })
		}()
		<-done
	})
	t.Run("pending", func(t *testing.T) {
		background(t, func(ready func(), stop <-chan struct{}) { deferLoop(100, ready, stop) })
		holds(t, map[string]int64{"deferLoop.$defer.p": 100, "deferLoop.$defer.last": 1})
	})
}

func TestIterPull(t *testing.T) {
	next, stop := iter.Pull(func(yield func(*cargo) bool) {
		inside := newCargo()
		if !yield(newCargo()) {
			return
		}
		yield(inside)
	})
	defer stop()
	p, ok := next()
	require.True(t, ok)
	r := holds(t, map[string]int64{"TestIterPull.p": 1, "TestIterPull.func1.inside": 1})
	yields := 0
	for _, n := range r.Roots {
		if strings.HasSuffix(n.Name, "TestIterPull.func1.yield") {
			yields++
			require.Zero(t, untypedBelow(n), "%s", n.Name) // package iter has no type for coroutines
		}
	}
	require.Equal(t, 1, yields)
	p.id++
	_, ok = next()
	require.True(t, ok)
}

type reflected struct{ p *cargo }

func (r *reflected) Call(f func(), q *cargo, n int) *cargo {
	f()
	use(q)
	q.id += n
	r.p.id++
	return r.p
}

func TestReflectCalls(t *testing.T) {
	t.Run("MakeFunc", func(t *testing.T) {
		kept := newCargo()
		made := reflect.MakeFunc(reflect.TypeFor[func(*cargo, string) *cargo](), func(args []reflect.Value) []reflect.Value {
			regs := "reflect.floatToReg.r.Ptrs[*]" // inlined last
			if unoptimised() {
				regs = "reflect.callReflect.regs.Ptrs[*]"
			}
			holds(t, map[string]int64{"TestReflectCalls.func1.1.kept": 1, regs: 1})
			kept.id++
			return args[:1]
		}).Interface().(func(*cargo, string) *cargo)
		made(newCargo(), "x").id++
	})
	t.Run("method value", func(t *testing.T) {
		f := reflect.ValueOf(&reflected{newCargo()}).MethodByName("Call").Interface().(func(func(), *cargo, int) *cargo)
		f(func() {
			holds(t, map[string]int64{"(*reflected).Call.r.p": 1, "(*reflected).Call.q": 1})
		}, newCargo(), 1).id++
	})
}

// register is a struct of maps. It stays on its goroutine's stack, as do the headers of the maps.
type register struct {
	byID map[int]*cargo
	ids  map[*cargo]int
}

//go:noinline
func (r *register) add(id int) {
	c := newCargo()
	r.byID[id] = c
	r.ids[c] = id
}

//go:noinline
func holdRegister(n int, ready func(), stop <-chan struct{}) {
	r := register{byID: make(map[int]*cargo), ids: make(map[*cargo]int)}
	for id := range n {
		r.add(id)
	}
	ready()
	<-stop
	r.add(-1)
}

// Tables of a map belong to the variable that holds the map, also where only the header is on the
// stack.
func TestMapHeaderOnStack(t *testing.T) {
	const n = 1000
	background(t, func(ready func(), stop <-chan struct{}) { holdRegister(n, ready, stop) })
	r := holds(t, map[string]int64{"holdRegister.r.byID[*]": n})
	var bytes int64
	for _, root := range r.Roots {
		require.NotEqual(t, "runtime.(unattributed)", root.Name, "%d objects, %d B", root.Objects, root.Bytes)
		if root.Name == pkg+"holdRegister.r" {
			bytes += root.Bytes
		}
	}
	require.Greater(t, bytes, int64(2*n*16), "two tables of a thousand entries, each of two words")
}
