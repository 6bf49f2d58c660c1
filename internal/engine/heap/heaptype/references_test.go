package heaptype_test

import (
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/heaptest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

const pkg = "github.com/leakgate/leakgate/internal/engine/heap/heaptype_test."

// A point has a number, by which the tests know it.
type point struct {
	number int
	next   *point
}

// many is the number of points that need not be known one by one.
const many = 1000

func (p *point) move() { p.number++ }

func numbered(n int) *point { return &point{number: n} }

type failure struct{ at *point }

func (failure) Error() string { return "" }

// generic returns a closure of shaped code.
//
//go:noinline
func generic[T any](v T) func() T { return func() T { return v } }

// A holder has references of each kind.
type holder struct {
	pointer   *point
	array     [12]*point
	slice     []*point
	structs   []point
	text      string
	boxed     any
	direct    any
	err       error
	small     map[string]*point
	large     map[int]*point
	numbers   map[int]int
	channel   chan *point
	closure   func() int
	method    func()
	generic   func() *point
	once      func() *point
	nested    struct{ inner [2]struct{ at *point } }
	shared    sync.Map
	atomic    atomic.Pointer[point]
	reflected reflect.Value
	indirect  reflect.Value
	unsafe    unsafe.Pointer
	made      any // of a type that reflection makes at run time
	madeList  any
	makeFunc  any
	nothing   *point
	noError   error
}

func newHolder() *holder {
	room, n := string(make([]byte, 40)), 7 // texts that the compiler did not make
	text := "captured" + room
	h := &holder{
		pointer: &point{1, numbered(2)}, slice: make([]*point, 2, 5), structs: []point{{3, nil}, {4, numbered(5)}},
		text: "text" + room, boxed: point{6, numbered(7)}, direct: numbered(8), err: failure{numbered(9)},
		small: map[string]*point{"key" + room: numbered(10)}, large: map[int]*point{}, numbers: map[int]int{1: 2},
		channel: make(chan *point, 3), closure: func() int { n++; return n + len(text) },
		method: numbered(11).move, generic: generic(numbered(12)), once: sync.OnceValue(func() *point { return numbered(13) }),
		reflected: reflect.ValueOf(numbered(14)), indirect: reflect.ValueOf(point{15, numbered(16)}), unsafe: unsafe.Pointer(numbered(17)),
	}
	h.array[3], h.array[11], h.slice[1] = numbered(18), numbered(19), numbered(20)
	for i := range 300 {
		h.large[i] = numbered(many)
	}
	h.channel <- numbered(21)
	h.once()
	h.nested.inner[1].at = numbered(22)
	h.shared.Store("name", numbered(23))
	h.atomic.Store(numbered(24))
	fields := []reflect.StructField{{Name: "A", Type: reflect.TypeFor[int]()}, {Name: "B", Type: reflect.TypeFor[*point]()}}
	made := reflect.New(reflect.StructOf(fields))
	made.Elem().Field(1).Set(reflect.ValueOf(numbered(25)))
	h.made = made.Interface()
	list := reflect.MakeSlice(reflect.SliceOf(reflect.ArrayOf(3, reflect.TypeFor[*point]())), 2, 2)
	list.Index(1).Index(2).Set(reflect.ValueOf(numbered(26)))
	h.madeList = list.Interface()
	last := numbered(27)
	h.makeFunc = reflect.MakeFunc(reflect.TypeFor[func(*point)](), func([]reflect.Value) []reflect.Value { last.move(); return nil }).Interface()
	return h
}

// wantReferences are those of a holder, and of what they lead to.
var wantReferences = []string{
	"array[10+]: value of point 19", "array[3]: value of point 18", "atomic: value of point 24", "boxed.next: value of point 7",
	"boxed: boxed of point 6", "channel: chan of chan *point", "channel[*]: value of point 21", "closure.n: value of int",
	"closure.text: string of uint8", "closure: closure of func newHolder.func1", "direct: value of point 8", "err: value of point 9",
	"generic.v: value of point 12", "generic: closure of func generic[go.shape.*uint8].func1", "indirect.next: value of point 16",
	"indirect: boxed of point 15", "large.$mapval: value of point", "large: map of map[int]*point", "made.B: value of point 25",
	"made: value of struct { A int; B *point }", "madeList: array of [3]*point", "madeList: boxed of [][3]*point", "madeList[1][2]: value of point 26",
	"makeFunc.fn.last: value of point 27", "makeFunc.fn: closure of func newHolder.func3", "makeFunc: closure of func reflect.makeFuncStub",
	"method.$recv: value of point 11", "method: closure of func (*point).move-fm", "nested.inner[1].at: value of point 22",
	"numbers: map of map[int]int", "once.d.result: value of point 13", "pointer.next: value of point 2", "pointer: value of point 1",
	"reflected: value of point 14", "shared.$mapkey: boxed of string", "shared.$mapval: value of point 23",
	"shared: trie of internal/sync.HashTrieMap[interface {},interface {}]", "slice: array of *point", "slice[1]: value of point 20",
	"small.$mapkey: string of uint8", "small.$mapval: value of point 10", "small: map of map[string]*point", "structs: array of point",
	"structs[1].next: value of point 5", "text: string of uint8", "unsafe: unknown",
}

var layouts = map[heaptype.Layout]string{
	heaptype.LayoutValue: "value", heaptype.LayoutBoxed: "boxed", heaptype.LayoutArray: "array", heaptype.LayoutString: "string",
	heaptype.LayoutMap: "map", heaptype.LayoutTrie: "trie", heaptype.LayoutChan: "chan", heaptype.LayoutClosure: "closure",
}

// A tracer follows references from an object, and says where each of them leads.
type tracer struct {
	process *heaptest.Process
	types   *heaptype.Table
	seen    map[uint64]bool
	lines   map[string]bool
	aside   *heaptype.Aside
}

// mark returns the number of the point that a reference leads to.
func (r *tracer) mark(e heaptype.Edge) string {
	s, obj := r.process.Model().Object(e.To)
	if e.Type.Name != pkg+"point" || e.Layout == heaptype.LayoutArray || s == nil {
		return ""
	}
	if x := heaptype.Word(s.Bytes(obj), e.To-s.Addr(obj)); x < many {
		return fmt.Sprintf(" %d", x)
	}
	return ""
}

// follow follows the references of the object that e leads to.
func (r *tracer) follow(path string, e heaptype.Edge) {
	t, layout, addr := e.Type, e.Layout, e.To
	s, obj := r.process.Model().Object(addr)
	if s == nil || r.seen[addr] {
		return
	}
	r.seen[addr] = true
	mem, start := heaptype.Payload(s, obj)
	if start != addr {
		return
	}
	if e.Size > 0 {
		mem = mem[:min(e.Size, uint64(len(mem)))] // behind it the block may hold anything
	}
	if layout == heaptype.LayoutClosure {
		t = r.types.ClosureObject(t, s, obj, e.Fn)
	}
	w := heaptype.Walker{Types: r.types, Aside: r.aside}
	w.Emit = func(e heaptype.Edge) {
		if e.Ref == heaptype.RefInternal {
			return
		}
		to := heaptype.JoinLabel(path, heaptype.LabelOf(t, layout, e.Ref))
		if e.Type == nil {
			r.lines[to+": unknown"] = true
			return
		}
		r.lines[fmt.Sprintf("%s: %s of %s%s", to, layouts[e.Layout], strings.ReplaceAll(e.Type.Name, pkg, ""), r.mark(e))] = true
		r.follow(to, e)
	}
	w.Object(t, layout, mem, addr)
	for _, p := range w.Aside.TakeAll(nil) {
		w.Portion(&p)
	}
}

// references returns the references of h and of what they lead to, but for those of the runtime's
// own closures.
func references(t *testing.T, p *heaptest.Process, h *holder, aside *heaptype.Aside) string {
	t.Helper()
	types, err := heaptype.NewTable(p.Model(), p.Index(), true)
	require.NoError(t, err)
	r := &tracer{process: p, types: types, seen: make(map[uint64]bool), lines: make(map[string]bool), aside: aside}
	typ := types.ByDescriptor(uint64(reflect.ValueOf(reflect.TypeFor[holder]()).Pointer()))
	require.NotNil(t, typ)
	require.Same(t, typ, types.Named(pkg+"holder"))
	r.follow("", heaptype.Edge{To: uint64(uintptr(unsafe.Pointer(h))), Type: typ, Layout: heaptype.LayoutValue})
	maps.DeleteFunc(r.lines, func(line string, _ bool) bool {
		return strings.HasPrefix(line, "makeFunc.ftyp") || strings.HasPrefix(line, "makeFunc.makeFuncCtxt") ||
			strings.HasPrefix(line, "shared.keyHash") || strings.HasPrefix(line, "shared.valEqual") ||
			strings.HasPrefix(line, "once") && !strings.Contains(line, "result: ") || strings.HasSuffix(line, "]uintptr") // a dictionary
	})
	return strings.Join(slices.Sorted(maps.Keys(r.lines)), "\n")
}

// A walk finds each reference, its name, and the type and layout of what it leads to. Portions of
// large objects come to the same.
func TestReferences(t *testing.T) {
	h := newHolder()
	p := heaptest.Capture(t)
	want := strings.Join(wantReferences, "\n")
	assert.Equal(t, want, references(t, p, h, nil))
	assert.Equal(t, want, references(t, p, h, &heaptype.Aside{Sizes: heaptype.PortionSizes{Array: 8, Directory: 1}}))
	runtime.KeepAlive(h)
}
