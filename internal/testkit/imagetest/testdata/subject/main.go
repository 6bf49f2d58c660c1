// Subject is a small program with one of each thing that the runtime model reads. It freezes itself and
// writes its memory to the file that it is told, as package imagetest reads it.
package main

import (
	"container/list"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unique"
	"weak"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/process/freeze"
)

type node struct {
	next *node
	name string
	data []byte
}

type pair[K comparable, V any] struct {
	key K
	val V
}

type shape interface{ area() int }

type square struct{ side *int }

func (s square) area() int { return *s.side }

func (n *node) method() string { return n.name }

// wide is large enough for a type in the object's first word.
type wide struct {
	nodes [90]*node
	any   [20]any
}

// masked is so large that its pointer mask is made on demand.
type masked struct {
	pad   [4]*node
	parts [40000]struct {
		a *node
		n int
	}
}

var (
	chain    *node
	small    = map[string]*node{}
	large    = map[int]*node{}
	numbers  = map[int]int{}
	shared   sync.Map
	pool     sync.Pool
	current  atomic.Pointer[node]
	boxed    atomic.Value
	shapes   []shape
	anything []any
	funcs    []func() string
	values   []reflect.Value
	makers   []any
	channel  = make(chan *node, 8)
	ring     = list.New()
	pairs    []pair[string, *node]
	wides    []*wide
	onDemand *masked
	handles  []unique.Handle[string]
	weaks    []weak.Pointer[node]
	timers   []*time.Timer
	ctx      context.Context
	tiny     []*int8
	halves   []string // of blocks whose other halves package os has
	blocked  = make(chan struct{})
	exchange = make(chan *node)
	bulk     = make([]byte, 1<<20)
)

func newNode(i int) *node {
	return &node{name: "node " + strconv.Itoa(i), data: make([]byte, 40)}
}

func fill() {
	for i := range 300 {
		n := newNode(i)
		n.next = chain
		chain = n
		large[i] = newNode(i)
		numbers[i] = i
		shared.Store(i, newNode(i))
	}
	for i := range 5 {
		n := newNode(i)
		small[n.name] = n
		pool.Put(newNode(i))
		side := i
		shapes = append(shapes, square{&side}, &square{&side})
		anything = append(anything, i, n.name, n, []any{n, map[string]any{"x": n}})
		funcs = append(funcs, func() string { return n.name }, n.method)
		values = append(values, reflect.ValueOf(n), reflect.ValueOf(*n))
		makers = append(makers, reflect.MakeFunc(reflect.TypeFor[func(*node) *node](), func(in []reflect.Value) []reflect.Value {
			_ = n
			<-blocked
			return in
		}).Interface())
		channel <- newNode(i)
		ring.PushBack(newNode(i))
		pairs = append(pairs, pair[string, *node]{n.name, n})
		w := &wide{}
		w.nodes[i], w.any[i] = n, n
		wides = append(wides, w)
		handles = append(handles, unique.Make(n.name))
		weaks = append(weaks, weak.Make(n))
		timers = append(timers, time.AfterFunc(time.Hour, func() { _ = n }))
		b := int8(i)
		tiny = append(tiny, &b)
		runtime.AddCleanup(newFinalized(n), func(n *node) { _ = n }, n)
	}
	for i := range 100 {
		halves = append(halves, strconv.Itoa(1_000_000+i))
		os.Args = append(os.Args, strconv.Itoa(2_000_000+i))
	}
	current.Store(newNode(1))
	boxed.Store(newNode(2))
	onDemand = &masked{}
	onDemand.parts[39999].a = newNode(3)
	ctx = context.Background()
	for i := range 20 {
		ctx = context.WithValue(ctx, i, newNode(i)) // the key's type is of no interest
	}
}

var finalized []*node

func newFinalized(n *node) *node {
	f := newNode(7)
	finalized = append(finalized, f)
	runtime.SetFinalizer(f, func(f *node) { _ = n })
	return f
}

// queue lets a finalizer and cleanups wait for ever, so that others stay in their queues.
func queue() {
	for range 40 {
		runtime.SetFinalizer(newNode(8), func(*node) { <-blocked })
		n := newNode(9)
		runtime.AddCleanup(newNode(10), func(n *node) { <-blocked; _ = n }, n)
	}
	clear(make([]byte, 1<<10))
}

func local(n *node, deep int) {
	var buf [4]*node // address taken: a stack object
	buf[deep%4] = n
	if deep > 0 {
		defer local2(n)
		local(n, deep-1)
		use(&buf)
		return
	}
	for i := range 5 {
		defer func() { _, _ = i, n }() // in a loop: records on the heap
	}
	<-blocked
	use(&buf)
}

//go:noinline
func local2(n *node) { _ = n }

//go:noinline
func use(p *[4]*node) { _ = p }

// wideFrame has an object on its stack that is larger than the stack of a goroutine that has called nothing.
//
//go:noinline
func wideFrame(n int) {
	var buf [48]*node
	useWide(&buf, n)
}

//go:noinline
func useWide(p *[48]*node, n int) { p[n%48] = nil }

func panicking(n *node) {
	defer func() {
		defer func() { _ = n }()
		<-blocked
		_ = recover()
	}()
	panic(n)
}

func start() {
	for i := range 3 {
		n := newNode(i)
		go local(n, 10)
		go panicking(n)
		go func() { exchange <- n }() // never received
		go func() {
			var got *node
			select {
			case got = <-channel2:
			case channel3 <- n:
			case <-blocked:
			}
			_ = got
		}()
		go makers[i].(func(*node) *node)(n)
		go func() {
			m := map[string]*node{"here": n}
			<-blocked
			_ = m[n.name]
		}()
	}
}

var channel2, channel3 = make(chan *node), make(chan *node)

func main() {
	runtime.MemProfileRate = 64 // so that objects have records of their allocation
	fill()
	start()
	wideFrame(len(os.Args))
	queue()
	for range 5 {
		runtime.GC()
		time.Sleep(5 * time.Millisecond)
	}
	debug.SetGCPercent(-1)
	runtime.GC()
	if err := write(os.Args[1]); err != nil {
		panic(err)
	}
	runtime.KeepAlive(finalized)
	runtime.KeepAlive(bulk)
}

// write freezes the process and writes who called, then for each stretch of readable memory its address, its length and
// its pages that are not zero.
func write(path string) error {
	p, err := freeze.Take()
	if err != nil {
		return err
	}
	defer p.Close()
	if err := mapNeighbours(); err != nil {
		return err
	}
	maps, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID()) + "/maps")
	if err != nil {
		return err
	}
	pc, sp := p.Caller()
	out := words(nil, uint64(p.CallerG()), uint64(pc), uint64(sp))
	const page = 4 << 10
	for _, r := range readable(string(maps)) {
		copied, err := p.Copy([]image.Range{r})
		if err != nil {
			return err
		}
		b := copied[0]
		if uint64(len(b)) < r.Len {
			return fmt.Errorf("%d bytes at %#x: only %d can be copied", r.Len, r.Addr, len(b))
		}
		out = words(out, r.Addr, uint64(len(b)))
		for off := 0; off < len(b); off += page {
			if [page]byte(b[off:off+page]) != [page]byte{} {
				out = append(words(out, r.Addr+uint64(off)), b[off:off+page]...)
			}
		}
		out = words(out, 0)
	}
	return os.WriteFile(path, out, 0o600)
}

// mapNeighbours maps pages in this process as any thread may at any time. The kernel puts them next to other memory, and
// /proc/self/maps then says of both together that they are one stretch. What the frozen process has, only its own file says.
func mapNeighbours() error {
	for range 60 {
		if _, err := syscall.Mmap(-1, 0, 4<<10, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON); err != nil {
			return err
		}
	}
	return nil
}

func words(b []byte, list ...uint64) []byte {
	for _, w := range list {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}
