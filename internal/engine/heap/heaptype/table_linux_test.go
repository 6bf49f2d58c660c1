//go:build go1.26

package heaptype

import (
	"reflect"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/testkit/imagetest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// Several goroutines request all types of a program at once, each in another order and half of them
// from another table. All get the same types, which equal those that a single goroutine gets from a
// table that shares none, except for their indexes.
func TestTypesForManyGoroutines(t *testing.T) {
	p := imagetest.Record(t)
	index := p.Index
	load := func(own bool) *Table {
		m, err := p.Load(p)
		require.NoError(t, err)
		tt, err := NewTable(m, index, own)
		require.NoError(t, err)
		return tt
	}
	ask := func(tt *Table, first int) []*Type {
		n := index.NumTypes()
		found := make([]*Type, 4*(n+1))
		for i := range n {
			id := debuginfo.TypeID((i+first)%n + 1)
			at := found[4*id:]
			at[0] = tt.ByID(id)
			for k := range at[0].Ops {
				if target := tt.target(&at[0].Ops[k]); target != nil {
					at[1] = target
				}
			}
			d := index.Type(id)
			if at[2] = tt.ByDescriptor(d.RuntimeAddr); d.Kind == reflect.Map {
				at[3] = tt.MapLayout(at[0]).Val
			}
			tt.byteType()
		}
		return found
	}
	alone := ask(load(false), 0)

	const workers = 8
	together := [2]*Table{load(true), load(true)}
	var results [workers][]*Type
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { results[w] = ask(together[w%2], w*index.NumTypes()/workers) })
	}
	wg.Wait()
	for range 3 {
		runtime.GC() // the kept types have to keep what they lead to, or lead out of the heap
	}
	made := 0
	for i, want := range alone {
		got := results[0][i]
		for w := range workers {
			require.Same(t, got, results[w][i])
		}
		require.Equal(t, want == nil, got == nil)
		if got == nil {
			continue
		}
		made++
		require.Equal(t, want.Name, got.Name)
		require.Equal(t, want.Words, got.Words, want.Name)
		require.Equal(t, want.Refs, got.Refs, want.Name)
		require.Len(t, got.Ops, len(want.Ops), want.Name)
		for ref := range want.Refs {
			require.Equal(t, want.Label(ref), got.Label(ref), want.Name)
		}
		if got.Index != 0 {
			require.Same(t, got, together[1].At(got.Index))
		}
	}
	require.Greater(t, made, 1000)
	if kept := together[0]; kept.lasting { // with -count, the types of the first run's index are kept
		requireOutOfHeap(t, kept)
	}
}

// requireOutOfHeap checks that the types that outlive a snapshot lie outside of the Go heap, with
// all that they lead to: the collector does not see what they need.
func requireOutOfHeap(t *testing.T, kept *Table) {
	t.Helper()
	for _, f := range kept.Names.Funcs() {
		kept.Closure(f.Entry + kept.Model.Bias())
	}
	now := imagetest.Record(t)
	heap, err := now.Load(now)
	require.NoError(t, err)
	v := &visit{heap: heap, seen: make(map[unsafe.Pointer]bool)}
	v.follow(reflect.ValueOf(*kept.list.Load()), "types")
	v.follow(reflect.ValueOf(kept.origins), "origins")
	require.Greater(t, len(v.seen), 10_000)
	require.Empty(t, v.inHeap)
}

// A visit follows pointers, and notes those that lead into the heap.
type visit struct {
	heap   *goruntime.Model
	seen   map[unsafe.Pointer]bool
	inHeap []string
}

// note reports whether p is new.
func (v *visit) note(p unsafe.Pointer, at string) bool {
	if p == nil || v.seen[p] {
		return false
	}
	v.seen[p] = true
	if s, _, _ := v.heap.Slot(uint64(uintptr(p))); s != nil {
		v.inHeap = append(v.inHeap, at)
	}
	return true
}

func (v *visit) follow(x reflect.Value, at string) {
	switch x.Kind() {
	case reflect.String:
		v.note(unsafe.Pointer(unsafe.StringData(x.String())), at)
	case reflect.Pointer:
		if v.note(x.UnsafePointer(), at) {
			v.follow(x.Elem(), x.Type().String())
		}
	case reflect.Slice:
		if v.note(x.UnsafePointer(), at) {
			for i := range x.Len() {
				v.follow(x.Index(i), at)
			}
		}
	case reflect.Struct:
		if x.Type().PkgPath() == "sync/atomic" && x.NumField() == 3 { // a Pointer: see its fields
			if p := x.Field(2).UnsafePointer(); v.note(p, at) {
				v.follow(reflect.NewAt(x.Type().Field(0).Type.Elem().Elem(), p).Elem(), at)
			}
			return
		}
		for i := range x.NumField() {
			v.follow(x.Field(i), at+"."+x.Type().Field(i).Name)
		}
	}
}
