// Subject is a program with package variables and goroutines of many kinds. It freezes itself, writes what
// leakgate knows of its variables to its standard output, and waits for the end of its standard input, so that a
// debugger can look at the same variables.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/heap/stackvar"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/process/freeze"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile/native"
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

var (
	aPointer   = &node{name: "pointer"}
	aStruct    = node{name: "struct"}
	aSlice     = []*node{aPointer}
	anArray    [7]*node
	aMap           = map[string]*node{"key": aPointer}
	aChannel       = make(chan *node, 3)
	aString        = fmt.Sprint("a string ", 1)
	anyValue   any = aPointer
	aShape     shape
	aFunc      = func() *node { return aPointer }
	aMutex     sync.Mutex
	aTime      time.Time
	aPair      pair[string, *node]
	unnamed    struct{ a, b *node }
	aValue     reflect.Value
	nested     map[string][]map[int]*pair[int, node]
	aDirection <-chan func(int, ...string) (error, bool)
)

var (
	wait  = make(chan bool)
	ready sync.WaitGroup
	sink  any
)

//go:noinline
func use(values ...any) {
	sink = values
	sink = nil
}

func newNode(name string) *node { return &node{name: name, data: make([]byte, 100)} }

//go:noinline
func pointers(p *node, q **node) *node {
	local := newNode("local")
	ready.Done()
	<-wait
	use(p.name, *q, local.data)
	return local
}

//go:noinline
func aggregates(s []*node, str string, m map[string]*node) int {
	arr := [3]*node{newNode("0"), newNode("1"), s[0]}
	st := node{next: s[0], name: str, data: make([]byte, 10)}
	other := &arr
	ready.Done()
	<-wait
	use(other[1], st, len(s), m)
	return len(str)
}

//go:noinline
func interfaces(v any, s shape, err error) any {
	boxed := any(pair[string, int]{"a", 1})
	ready.Done()
	<-wait
	use(v, s, err, boxed)
	return v
}

//go:noinline
func closures(n int) func() int {
	byRef := newNode("captured")
	byValue := newNode("captured by value")
	f := func() int { byRef = byRef.next; return len(byValue.name) + n }
	ready.Done()
	<-wait
	use(f)
	return f
}

//go:noinline
func generic[T any](x T, list []T) (result pair[string, T]) {
	result.val = x
	p := &pair[int, T]{1, x}
	ready.Done()
	<-wait
	use(p, list)
	return result
}

// inner is inlined.
func inner(n *node) string {
	of := n.next
	ready.Done()
	<-wait
	return of.name
}

//go:noinline
func inlining() {
	mine := newNode("mine")
	mine.next = newNode("next")
	use(inner(mine))
	use(mine)
}

//go:noinline
func scopes(x *node) {
	{
		x := []string{x.name}
		ready.Done()
		<-wait
		use(x)
	}
	use(x)
}

//go:noinline
func dead() {
	gone := newNode("gone")
	use(gone)
	ready.Done()
	<-wait
}

//go:noinline
func (n *node) method(arg *node) {
	defer use(arg)
	ready.Done()
	<-wait
	use(n.name)
}

// A Variable as the test reads it.
type Variable struct {
	Func, Name, Type string
	Addr, Size, CFA  uint64
	Live             bool
}

func main() {
	use(aPointer, &aStruct, aSlice, &anArray, aMap, aChannel, aString, anyValue, aShape, aFunc, &aMutex, &aTime, &aPair, &unnamed, &aValue, nested, aDirection)
	q := newNode("q")
	ready.Add(10)
	go pointers(newNode("p"), &q)
	go aggregates([]*node{q}, fmt.Sprint("str", 1), aMap)
	side := 3
	go interfaces(q, square{&side}, io.EOF)
	go closures(1)
	go generic(q, aSlice)
	go generic(1.5, []float64{1})
	go inlining()
	go scopes(q)
	go dead()
	go newNode("receiver").method(q)
	ready.Wait()
	time.Sleep(50 * time.Millisecond) // for them to block
	runtime.GC()
	debug.SetGCPercent(-1) // nothing moves from here on
	if err := report(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	close(wait)
}

func report() error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	file, err := native.Open(exe)
	if err != nil {
		return err
	}
	defer file.Close()
	index, err := debuginfo.Build(file)
	if err != nil {
		return err
	}
	anchor, ok := index.GlobalByName("main.aStruct")
	if !ok {
		return fmt.Errorf("no variable main.aStruct")
	}
	bias := uint64(uintptr(unsafe.Pointer(&aStruct))) - anchor.Addr
	process, err := freeze.Take()
	if err != nil {
		return err
	}
	pc, sp := process.Caller()
	model, err := goruntime.LoadSpans(image.NewSpace(process), index, bias, runtime.GOARCH)
	if err != nil {
		return err
	}
	if err := model.LoadObjects(goruntime.Caller{G: uint64(process.CallerG()), PC: uint64(pc), SP: uint64(sp)}); err != nil {
		return err
	}
	graph, err := typedheap.Build(model, index, typedheap.Options{})
	if err != nil {
		return err
	}
	var out struct {
		Globals []Variable
		Locals  []Variable // of all goroutines but this one
	}
	for _, v := range index.Globals() {
		if v.Type != 0 {
			out.Globals = append(out.Globals, Variable{Name: v.Name, Type: index.Type(v.Type).Name, Addr: v.Addr + bias, Size: uint64(v.Size)})
		}
	}
	for i, g := range model.Goroutines {
		if g.IsCaller {
			continue
		}
		err := graph.Variables(i, func(v stackvar.Variable) {
			out.Locals = append(out.Locals, Variable{Func: v.Func, Name: v.Name, Type: v.Type, Addr: v.Addr, Size: v.Size, CFA: v.CFA, Live: v.Live})
		})
		if err != nil {
			return err
		}
	}
	if err := process.Close(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}
