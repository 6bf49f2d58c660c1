package refscan_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// payload is what each construct of the corpus keeps alive, and nothing else keeps alive.
type payload struct {
	id   int
	data []byte
}

func newPayload() *payload { return &payload{data: make([]byte, 100)} }

type node struct {
	left, right *node
	p           *payload
}

type box[T any] struct {
	v    T
	next *box[T]
}

type holder struct {
	name string
	in   struct{ p *payload }
	arr  [3]*payload
	any  any
}

func (h *holder) method() *payload { return h.in.p }

type value struct{ p *payload }

func (v value) method() *payload { return v.p }

type big struct {
	_  [200]byte
	id int
	p  *payload
}

// The corpus: package variables of every kind.
var (
	gPointer    *payload
	gStruct     holder
	gFields     holder
	gAny        holder
	gSlice      []*payload
	gMoved      []payload
	gStructs    []holder
	gArray      [20]*payload
	gMap8       map[int]*payload
	gMap500     map[string]*payload
	gMap2000    map[any]*payload
	gMap14000   map[int]*payload
	gMap20000   map[[2]int]value
	gMapKeys    map[*payload]bool
	gMapBig     map[big]big
	gMapBigKeys map[big]bool
	gMapFlat    map[int]int
	gMapOfMaps  map[string]map[int]*payload
	gInterface  any
	gBoxed      any
	gStringer   fmt.Stringer
	gClosure    func() *payload
	gByRef      func() *payload
	gMethod     func() *payload
	gValueRecv  func() *payload
	gChan       chan *payload
	gTree       *node
	gGeneric    *box[*payload]
	gAtomic     atomic.Pointer[payload]
	gValue      atomic.Value
	gSyncMap    sync.Map
	gInterior   *int
	gString     string
	gContext    context.Context
	gTimer      *time.Timer
	gLarge      []*payload
	gLiteral    = []*holder{{name: "literal"}, {name: "two"}}
	gNested     [][]map[string][]*payload
	gFuncs      map[string]func() *payload
)

func tree(depth int) *node {
	if depth == 0 {
		return nil
	}
	return &node{left: tree(depth - 1), right: tree(depth - 1), p: newPayload()}
}

type named string

func (n *named) String() string { return string(*n) }

// A construct keeps payloads alive in a way of its own.
type construct struct {
	root    string   // the variable that keeps them alive
	path    []string // from it to the payloads, folded
	objects int64    // how many payloads
	fill    func()   // fills the variable, which is empty
}

// corpus has one construct for each variable above whose payloads are objects of their own.
var corpus = []construct{
	{"gPointer", nil, 1, func() { gPointer = newPayload() }},
	{"gStruct", []string{"in.p"}, 1, func() {
		gStruct = holder{name: fmt.Sprint("a name of its own", 1)}
		gStruct.in.p = newPayload()
	}},
	{"gFields", []string{"arr[*]"}, 2, func() {
		gFields = holder{}
		gFields.arr[1], gFields.arr[2] = newPayload(), newPayload()
	}},
	{"gAny", []string{"any"}, 1, func() { gAny.any = newPayload() }},
	{"gSlice", []string{"[*]"}, 15, func() {
		for range 15 {
			gSlice = append(gSlice, newPayload())
		}
	}},
	{"gStructs", []string{"[*].in.p"}, 12, func() {
		gStructs = make([]holder, 12)
		for i := range gStructs {
			gStructs[i].in.p = newPayload()
		}
	}},
	{"gArray", []string{"[*]"}, 20, func() {
		for i := range gArray {
			gArray[i] = newPayload()
		}
	}},
	{"gMap8", []string{"[*]"}, 8, func() {
		gMap8 = make(map[int]*payload)
		for i := range 8 {
			gMap8[i] = newPayload()
		}
	}},
	{"gMap500", []string{"[*]"}, 500, func() {
		gMap500 = make(map[string]*payload)
		for i := range 500 {
			gMap500[fmt.Sprintf("a key that is not tiny %d", i)] = newPayload()
		}
	}},
	{"gMap2000", []string{"[*]"}, 2000, func() {
		gMap2000 = make(map[any]*payload)
		for i := range 2000 {
			gMap2000[i] = newPayload()
		}
	}},
	{"gMap14000", []string{"[*]"}, 14000, func() {
		gMap14000 = make(map[int]*payload)
		for i := range 14000 {
			gMap14000[i] = newPayload()
		}
	}},
	{"gMap20000", []string{"[*].p"}, 20000, func() {
		gMap20000 = make(map[[2]int]value)
		for i := range 20000 {
			gMap20000[[2]int{i, i}] = value{newPayload()}
		}
	}},
	{"gMapKeys", []string{"[$key]"}, 2, func() { gMapKeys = map[*payload]bool{newPayload(): true, newPayload(): false} }},
	{"gMapBig", []string{"[*]", "p"}, 20, func() {
		gMapBig = make(map[big]big)
		for i := range 20 {
			gMapBig[big{id: i}] = big{p: newPayload()}
		}
	}},
	{"gMapBigKeys", []string{"[$key]", "p"}, 20, func() {
		gMapBigKeys = make(map[big]bool)
		for range 20 {
			gMapBigKeys[big{p: newPayload()}] = true
		}
	}},
	{"gMapOfMaps", []string{"[*]", "[*]"}, 2, func() {
		gMapOfMaps = map[string]map[int]*payload{"x": {1: newPayload()}, "y": {2: newPayload()}}
	}},
	{"gInterface", nil, 1, func() { gInterface = newPayload() }},
	{"gBoxed", []string{"arr[*]"}, 1, func() { gBoxed = holder{arr: [3]*payload{newPayload()}} }},
	{"gClosure", []string{"captured"}, 1, func() {
		captured := newPayload()
		gClosure = func() *payload { return captured }
	}},
	{"gByRef", []string{"byRef", "$val"}, 1, func() {
		byRef := newPayload()
		gByRef = func() *payload { byRef.id++; return byRef }
		gByRef()
		byRef = newPayload()
	}},
	{"gMethod", []string{"$recv", "in.p"}, 1, func() {
		h := &holder{}
		h.in.p = newPayload()
		gMethod = h.method
	}},
	{"gValueRecv", []string{"$recv.p"}, 1, func() { gValueRecv = value{newPayload()}.method }},
	{"gChan", []string{"[*]"}, 5, func() {
		gChan = make(chan *payload, 10)
		for range 5 {
			gChan <- newPayload()
		}
	}},
	{"gTree", []string{"p"}, 255, func() { gTree = tree(8) }},
	{"gGeneric", []string{"v"}, 10_000, func() {
		for range 10_000 {
			gGeneric = &box[*payload]{v: newPayload(), next: gGeneric}
		}
	}},
	{"gAtomic", nil, 1, func() { gAtomic.Store(newPayload()) }},
	{"gValue", nil, 1, func() { gValue.Store(newPayload()) }},
	{"gSyncMap", []string{"[*]"}, 100, func() {
		for i := range 100 {
			gSyncMap.Store(i+1000, newPayload())
		}
	}},
	{"gContext", []string{"val"}, 300, func() {
		gContext = context.Background()
		for i := range 300 {
			gContext = context.WithValue(gContext, named(fmt.Sprint(i)), newPayload())
		}
	}},
	{"gLarge", []string{"[*]"}, 1000, func() {
		gLarge = make([]*payload, 0, 100_000)
		for range 1000 {
			gLarge = append(gLarge, newPayload())
		}
	}},
	{"gLiteral", []string{"[*]", "in.p"}, 2, func() {
		for _, h := range gLiteral {
			h.in.p = newPayload()
		}
	}},
	{"gNested", []string{"[*]", "[*]", "[*]", "[*]"}, 2, func() {
		gNested = [][]map[string][]*payload{{{"k": {newPayload(), newPayload()}}}, {}}
	}},
	{"gFuncs", []string{"[*]", "p"}, 5, func() {
		gFuncs = map[string]func() *payload{}
		for i := range 5 {
			p := newPayload()
			gFuncs[fmt.Sprint("function number ", i)] = func() *payload { return p }
		}
	}},
	{"gTimer", []string{"timer.arg", "kept"}, 1, func() {
		kept := newPayload()
		gTimer = time.AfterFunc(time.Hour, func() { kept.id++ })
	}},
}

// fillOthers fills the variables of the corpus whose payloads are parts of other objects, or that
// have no payloads.
func fillOthers() {
	gMoved = make([]payload, 40)
	for i := range gMoved {
		gMoved[i].data = make([]byte, 100)
	}
	gMoved = gMoved[30:]
	gMapFlat = make(map[int]int)
	for i := range 1000 {
		gMapFlat[i] = i
	}
	n := named(fmt.Sprint("a string that is not tiny ", 7))
	gStringer = &n
	in := &struct {
		p *payload
		n [4]int
	}{p: newPayload()}
	gInterior = &in.n[2]
	gString = fmt.Sprintf("%0200d", 7)[10:50]
}

// clearCorpus empties all variables of the corpus.
func clearCorpus() {
	if gTimer != nil {
		gTimer.Stop()
	}
	gPointer, gStruct, gFields, gAny, gSlice, gMoved, gStructs, gArray = nil, holder{}, holder{}, holder{}, nil, nil, nil, [20]*payload{}
	gMap8, gMap500, gMap2000, gMap14000, gMap20000 = nil, nil, nil, nil, nil
	gMapKeys, gMapBig, gMapBigKeys, gMapFlat, gMapOfMaps = nil, nil, nil, nil, nil
	gInterface, gBoxed, gStringer, gClosure, gByRef, gMethod, gValueRecv = nil, nil, nil, nil, nil, nil, nil
	gChan, gTree, gGeneric, gInterior, gString, gContext, gTimer, gLarge, gNested, gFuncs = nil, nil, nil, nil, "", nil, nil, nil, nil, nil
	gAtomic.Store(nil)
	gValue = atomic.Value{}
	gSyncMap.Clear()
	for _, h := range gLiteral {
		h.in.p = nil
	}
}

// fillCorpus builds the corpus anew.
//
//go:noinline
func fillCorpus() {
	clearCorpus()
	for _, c := range corpus {
		c.fill()
	}
	fillOthers()
}

// long keeps a test out of short runs, which are those with the race detector. It makes scans ten
// times as slow, and other tests run scans in several goroutines under it.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes minutes with the race detector")
	}
}

// addressOf returns an address that keeps nothing alive.
func addressOf[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// emptyCorpus drops the corpus, for tests that often scan what they made themselves.
func emptyCorpus() {
	gMap14000, gMap20000, gMap500, gMapFlat, gTree, gLarge, gContext, gGeneric = nil, nil, nil, nil, nil, nil, nil, nil
	runtime.GC()
}

func scan(t testing.TB) *refscan.Report {
	t.Helper()
	s, err := refscan.Capture(refscan.WithLog(t.Logf))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	r, err := s.Scan()
	require.NoError(t, err)
	return r
}

const pkg = "github.com/leakgate/leakgate/refscan_test."

// at returns the folded node at a path below a root, which starts with the variable's name.
func at(t testing.TB, r *refscan.Report, root string, path ...string) *refscan.Node {
	t.Helper()
	var found *refscan.Node
	for _, n := range r.Roots {
		if n.Name == pkg+root {
			found = n
		}
	}
	require.NotNil(t, found, "no root %s", root)
	for _, name := range path {
		var next *refscan.Node
		var names []string
		for _, c := range found.Children {
			names = append(names, c.Name+" ("+c.Type+")")
			if c.Name == name {
				next = c
			}
		}
		require.NotNil(t, next, "%s: no child %q of %s; there are %q", root, name, found.Name, names)
		found = next
	}
	return found
}

func TestCorpus(t *testing.T) {
	fillCorpus()
	r := scan(t)
	sound(t, r)
	tot := r.Totals

	sum := int64(0)
	for _, n := range r.Roots {
		_, b := n.Total()
		sum += b
	}
	require.Equal(t, tot.AttributedBytes, sum, "every object is charged once, whole")

	f := r.Fold()
	for i := range corpus {
		corpus[i].check(t, f)
	}
	for root, elems := range map[string]int64{"gMap8": 8, "gMap500": 500, "gMap2000": 2000, "gMap14000": 14000, "gMap20000": 20000, "gMapFlat": 1000, "gSyncMap": 100} {
		n := at(t, f, root)
		require.EqualValues(t, 1, n.Objects, "%s: a map is one object", root)
		require.Equal(t, elems, n.Elems, root)
	}
	flat := at(t, f, "gMapFlat", "[*]")
	require.EqualValues(t, 1000, flat.Objects, "entries that lie in the tables count")
	require.Zero(t, flat.Bytes)
	runtime.KeepAlive(gInterior)
}

// check requires the construct's payloads in a folded report.
func (c *construct) check(t testing.TB, f *refscan.Report) {
	t.Helper()
	n := at(t, f, c.root, c.path...)
	require.Equal(t, payloadType, n.Type, "%s: type at %q", c.root, c.path)
	require.Equal(t, c.objects, n.Objects, "%s: objects at %q", c.root, c.path)
	require.Zero(t, n.UntypedObjects, "%s: untyped objects at %q", c.root, c.path)
	data := at(t, f, c.root, append(c.path[:len(c.path):len(c.path)], "data")...)
	require.Equal(t, c.objects, data.Objects, "%s: what the payload holds", c.root)
}

const payloadType = "*" + pkg + "payload"

// payloads counts the payloads in a report that are objects of their own.
func payloads(nodes []*refscan.Node) int64 {
	sum := int64(0)
	for _, n := range nodes {
		if n.Type == payloadType {
			sum += n.Objects
		}
		sum += payloads(n.Children)
	}
	return sum
}

// TestConstructs fills the constructs of the corpus one by one. The payloads of each are at its
// path, and nowhere else.
func TestConstructs(t *testing.T) {
	for i := 0; i < len(corpus); i += require.Rounds(3, 1) { // TestCorpus has all of them at once
		c := &corpus[i]
		t.Run(c.root[1:], func(t *testing.T) {
			clearCorpus()
			defer clearCorpus()
			c.fill()
			r := scan(t).Fold()
			c.check(t, r)
			require.Equal(t, c.objects, payloads(r.Roots))
			require.Zero(t, untypedBelow(at(t, r, c.root)))
			sound(t, r)
		})
	}
}
