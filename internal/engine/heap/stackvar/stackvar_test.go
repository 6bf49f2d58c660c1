//go:build go1.26

package stackvar_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/stackvar"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/heaptest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

const pkg = "github.com/leakgate/leakgate/internal/engine/heap/stackvar_test."

type (
	load   struct{ data []byte }
	inside struct {
		n    int
		load *load
	}
	getter interface{ get() *load }
	wide   struct {
		_    int
		load *load
		more []*load
	}
)

func (w wide) get() *load { return w.load }

//go:noinline
func newLoad() *load { return &load{make([]byte, 100)} }

//go:noinline
func fill(to []*load) {
	for i := range to {
		to[i] = newLoad()
	}
}

//go:noinline
func use(*load) {}

//go:noinline
func holdPointer(wait func()) {
	pointer := newLoad()
	wait()
	use(pointer)
}

//go:noinline
func holdStruct(wait func()) {
	var s inside
	fillStruct(&s)
	wait()
	fillStruct(&s)
}

//go:noinline
func fillStruct(s *inside) { s.load = newLoad() }

//go:noinline
func holdArray(wait func()) {
	var array [40]*load
	fill(array[:])
	wait()
	fill(array[:])
}

//go:noinline
func holdSlice(wait func()) {
	var array [4]*load
	slice := array[1:3]
	fill(slice)
	wait()
	fill(slice)
}

//go:noinline
func holdMap(wait func()) {
	s := struct{ byID map[int]*load }{make(map[int]*load)}
	fillMap(&s.byID)
	wait()
	fillMap(&s.byID)
}

//go:noinline
func fillMap(m *map[int]*load) { (*m)[1] = newLoad() }

//go:noinline
func holdLargeMap(wait func()) {
	s := struct{ byID map[int]*load }{make(map[int]*load)}
	for i := range 100 {
		s.byID[i] = newLoad()
	}
	fillMap(&s.byID)
	wait()
	fillMap(&s.byID)
}

//go:noinline
func holdEscaped(wait func()) {
	escaped := inside{load: newLoad()}
	change := func() { escaped.n++ }
	keep(change)
	wait()
	change()
	use(escaped.load)
}

var kept func()

//go:noinline
func keep(f func()) { kept = f; kept = nil }

//go:noinline
func holdInterface(wait func()) {
	holdBoth(wide{load: newLoad(), more: []*load{newLoad()}}, newLoad(), wait)
}

//go:noinline
func holdBoth(g getter, v any, wait func()) {
	wait()
	use(g.get())
	use(v.(*load))
}

//go:noinline
func holdGeneric(wait func()) { use(generic(newLoad(), []*load{newLoad()}, wait)) }

//go:noinline
func generic[T any](v T, list []T, wait func()) T {
	wait()
	return append(list, v)[0]
}

//go:noinline
func holdDeferred(wait func()) {
	for range 3 {
		inLoop := newLoad()
		defer func() { use(inLoop) }()
	}
	last := newLoad()
	defer func() { use(last) }()
	defer use(newLoad())
	wait()
}

//go:noinline
func holdClosure(wait func()) {
	captured := newLoad()
	f := func() { use(captured) }
	call(f, wait)
}

//go:noinline
func call(f, wait func()) {
	wait()
	f()
}

//go:noinline
func send(c chan *load) { c <- newLoad() }

// Functions that keep loads in variables of their frames while they wait.
var holds = []func(wait func()){
	holdPointer, holdStruct, holdArray, holdSlice, holdMap, holdLargeMap, holdEscaped, holdInterface, holdGeneric, holdDeferred, holdClosure,
}

// Each variable is found with the parts of it that hold something, and their types. Each word that
// is alive belongs to a variable, or to a temporary.
func TestVariablesOfFrames(t *testing.T) {
	heaptest.Long(t)
	end := make(chan struct{})
	var ready, ended sync.WaitGroup
	for _, h := range holds {
		ready.Add(1)
		ended.Go(func() { h(func() { ready.Done(); <-end }) })
	}
	ready.Wait()
	sends := make(chan *load)
	ended.Go(func() { send(sends) })
	time.Sleep(20 * time.Millisecond) // until it waits
	p := heaptest.Capture(t)
	found, whole := make(map[string]bool), make(map[string]bool)
	finder := stackvar.New(p.Heap.Types)
	for i := range p.Heap.Live.Stacks {
		st := &p.Heap.Live.Stacks[i]
		found := func(owner, line string) {
			if name, ok := strings.CutPrefix(owner, pkg); ok && !strings.HasPrefix(name, "Test") {
				found[name+"."+strings.ReplaceAll(line, pkg, "")] = true
			}
		}
		seen := make(map[uint64]bool)
		finder.Walk(st, func(v *stackvar.Var, label string, e heaptype.Edge) {
			seen[e.To] = true
			typ := "?"
			if e.Type != nil {
				typ = e.Type.Name
			}
			found(v.Owner, fmt.Sprintf("%s %s %s", v.Name, label, typ))
		})
		for _, s := range st.Slots {
			if !s.OnStack {
				require.True(t, seen[s.Value], "a live word is of no variable")
			}
		}
		require.NoError(t, finder.Variables(st, func(v stackvar.Variable) {
			if name, ok := strings.CutPrefix(v.Func, pkg); ok && v.Live && !strings.HasPrefix(name, "Test") {
				whole[name+"."+v.Name] = true
			}
		}))
	}
	require.NoError(t, p.Close())
	close(end)
	<-sends
	ended.Wait()
	for _, want := range []string{
		"holdPointer.pointer  load", "holdStruct.s load load", "holdArray.array [0] load", "holdArray.array [10+] load", "holdSlice.array [1] load",
		"holdMap.s byID.$mapval load", "holdLargeMap.s byID.$mapval load", "holdEscaped.escaped  inside", "holdBoth.g  wide", "holdBoth.v  load",
		"generic[go.shape.*uint8].v  load", "generic[go.shape.*uint8].list [0] load", "holdDeferred.$defer last load", "call.f captured load", "send.$temporary  load",
	} {
		assert.True(t, found[want], "%s is not among\n%s", want, strings.Join(slices.Sorted(maps.Keys(found)), "\n"))
	}
	for _, want := range []string{
		"holdPointer.pointer", "holdStruct.s", "holdArray.array", "holdSlice.array", "holdMap.s", "holdLargeMap.s", "holdEscaped.escaped", "call.f",
	} {
		assert.True(t, whole[want], "%s is not among\n%s", want, strings.Join(slices.Sorted(maps.Keys(whole)), "\n"))
	}
}
