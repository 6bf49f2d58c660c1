package refscan_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/refscan"
)

// payload is what each construct of the corpus keeps alive, and nothing else does.
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
	_ [200]byte
	p *payload
}

// The corpus: package variables of every kind.
var (
	gPointer   *payload
	gStruct    holder
	gSlice     []*payload
	gMoved     []payload
	gStructs   []holder
	gArray     [20]*payload
	gMap8      map[int]*payload
	gMap500    map[string]*payload
	gMap14000  map[int]*payload
	gMap20000  map[[2]int]value
	gMapKeys   map[*payload]bool
	gMapBig    map[big]big
	gMapFlat   map[int]int
	gMapOfMaps map[string]map[int]*payload
	gInterface any
	gBoxed     any
	gStringer  fmt.Stringer
	gClosure   func() *payload
	gByRef     func() *payload
	gMethod    func() *payload
	gValueM    func() *payload
	gChan      chan *payload
	gTree      *node
	gGeneric   *box[*payload]
	gAtomic    atomic.Pointer[payload]
	gValue     atomic.Value
	gSyncMap   sync.Map
	gInterior  *int
	gString    string
	gContext   context.Context
	gTimer     *time.Timer
	gLarge     []*payload
	gLiteral   = []*holder{{name: "literal"}, {name: "two"}}
	gNested    [][]map[string][]*payload
	gFuncs     map[string]func() *payload
)

func tree(depth int) *node {
	if depth == 0 {
		return nil
	}
	return &node{left: tree(depth - 1), right: tree(depth - 1), p: newPayload()}
}

type named string

func (n *named) String() string { return string(*n) }

// fillCorpus builds the corpus anew.
//
//go:noinline
func fillCorpus() {
	gSlice, gGeneric, gLarge = nil, nil, nil
	gSyncMap.Clear()
	if gTimer != nil {
		gTimer.Stop()
	}
	gPointer = newPayload()
	gStruct = holder{name: fmt.Sprint("a name of its own", 1)}
	gStruct.in.p, gStruct.arr[1], gStruct.any = newPayload(), newPayload(), newPayload()
	for range 15 {
		gSlice = append(gSlice, newPayload())
	}
	gMoved = make([]payload, 40)
	for i := range gMoved {
		gMoved[i].data = make([]byte, 100)
	}
	gMoved = gMoved[30:]
	gStructs = make([]holder, 12)
	for i := range gStructs {
		gStructs[i].in.p = newPayload()
	}
	for i := range gArray {
		gArray[i] = newPayload()
	}
	gMap8 = make(map[int]*payload)
	for i := range 8 {
		gMap8[i] = newPayload()
	}
	gMap500 = make(map[string]*payload)
	for i := range 500 {
		gMap500[fmt.Sprintf("a key that is not tiny %d", i)] = newPayload()
	}
	gMap14000 = make(map[int]*payload)
	for i := range 14000 {
		gMap14000[i] = newPayload()
	}
	gMap20000 = make(map[[2]int]value)
	for i := range 20000 {
		gMap20000[[2]int{i, i}] = value{newPayload()}
	}
	gMapKeys = map[*payload]bool{newPayload(): true, newPayload(): false}
	gMapBig = make(map[big]big)
	for range 20 {
		gMapBig[big{p: newPayload()}] = big{p: newPayload()}
	}
	gMapFlat = make(map[int]int)
	for i := range 1000 {
		gMapFlat[i] = i
	}
	gMapOfMaps = map[string]map[int]*payload{"x": {1: newPayload()}, "y": {2: newPayload()}}
	gInterface = newPayload()
	gBoxed = holder{arr: [3]*payload{newPayload()}}
	n := named(fmt.Sprint("a string that is not tiny ", 7))
	gStringer = &n
	captured := newPayload()
	gClosure = func() *payload { return captured }
	byRef := newPayload()
	gByRef = func() *payload { byRef.id++; return byRef }
	gByRef()
	byRef = newPayload()
	h := &holder{}
	h.in.p = newPayload()
	gMethod = h.method
	gValueM = value{newPayload()}.method
	gChan = make(chan *payload, 10)
	for range 5 {
		gChan <- newPayload()
	}
	gTree = tree(8)
	for range 300 {
		gGeneric = &box[*payload]{v: newPayload(), next: gGeneric}
	}
	gAtomic.Store(newPayload())
	gValue.Store(newPayload())
	for i := range 100 {
		gSyncMap.Store(i+1000, newPayload())
	}
	in := &struct {
		p *payload
		n [4]int
	}{p: newPayload()}
	gInterior = &in.n[2]
	gString = fmt.Sprintf("%0200d", 7)[10:50]
	gContext = context.Background()
	for i := range 300 {
		gContext = context.WithValue(gContext, named(fmt.Sprint(i)), newPayload())
	}
	kept := newPayload()
	gTimer = time.AfterFunc(time.Hour, func() { kept.id++ })
	gLarge = make([]*payload, 0, 100_000)
	for range 1000 {
		gLarge = append(gLarge, newPayload())
	}
	for _, h := range gLiteral {
		h.in.p = newPayload()
	}
	gNested = [][]map[string][]*payload{{{"k": {newPayload(), newPayload()}}}, {}}
	gFuncs = map[string]func() *payload{}
	for i := range 5 {
		p := newPayload()
		gFuncs[fmt.Sprint("function number ", i)] = func() *payload { return p }
	}
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
	tot := r.Totals
	t.Logf("%+v", tot)
	require.Zero(t, tot.ExtraBytes, "reached but not alive")
	// What tests before this one left in the caches of the Ps that the freeze takes away is not the corpus's.
	off := max(0.001*float64(tot.LiveBytes), float64(maxMissed*runtime.GOMAXPROCS(0)))
	require.LessOrEqual(t, float64(tot.MissedBytes), off, "alive but not reached")
	require.InDelta(t, tot.LiveBytes, tot.AttributedBytes, off)
	require.GreaterOrEqual(t, float64(tot.TypedBytes), 0.99*float64(tot.AttributedBytes))

	sum := int64(0)
	for _, n := range r.Roots {
		_, b := n.Total()
		sum += b
	}
	require.Equal(t, tot.AttributedBytes, sum, "every object is charged once, whole")

	f := r.Fold()
	const ptr = "*" + pkg + "payload"
	type want struct {
		objects int64
		path    []string
	}
	for root, w := range map[string]want{
		"gPointer":   {1, nil},
		"gStruct":    {1, []string{"in.p"}},
		"gSlice":     {15, []string{"[*]"}},
		"gStructs":   {12, []string{"[*].in.p"}},
		"gArray":     {20, []string{"[*]"}},
		"gMap8":      {8, []string{"[*]"}},
		"gMap500":    {500, []string{"[*]"}},
		"gMap14000":  {14000, []string{"[*]"}},
		"gMap20000":  {20000, []string{"[*].p"}},
		"gMapKeys":   {2, []string{"[$key]"}},
		"gMapBig":    {20, []string{"[*]", "p"}},
		"gMapOfMaps": {2, []string{"[*]", "[*]"}},
		"gInterface": {1, nil},
		"gBoxed":     {1, []string{"arr[*]"}},
		"gClosure":   {1, []string{"captured"}},
		"gByRef":     {1, []string{"byRef", "$val"}},
		"gMethod":    {1, []string{"$recv", "in.p"}},
		"gValueM":    {1, []string{"$recv.p"}},
		"gChan":      {5, []string{"[*]"}},
		"gTree":      {255, []string{"p"}},
		"gGeneric":   {300, []string{"v"}},
		"gAtomic":    {1, nil},
		"gValue":     {1, nil},
		"gSyncMap":   {100, []string{"[*]"}},
		"gLarge":     {1000, []string{"[*]"}},
		"gLiteral":   {2, []string{"[*]", "in.p"}},
		"gNested":    {2, []string{"[*]", "[*]", "[*]", "[*]"}},
		"gFuncs":     {5, []string{"[*]", "p"}},
		"gContext":   {300, []string{"val"}},
	} {
		n := at(t, f, root, w.path...)
		require.Equal(t, ptr, n.Type, "%s: type at %q", root, w.path)
		require.Equal(t, w.objects, n.Objects, "%s: objects at %q", root, w.path)
		data := at(t, f, root, append(w.path[:len(w.path):len(w.path)], "data")...)
		require.Equal(t, w.objects, data.Objects, "%s: what the payload holds", root)
	}
	for root, elems := range map[string]int64{"gMap8": 8, "gMap500": 500, "gMap14000": 14000, "gMap20000": 20000, "gMapFlat": 1000, "gSyncMap": 100} {
		n := at(t, f, root)
		require.EqualValues(t, 1, n.Objects, "%s: a map is one object", root)
		require.Equal(t, elems, n.Elems, root)
	}
	flat := at(t, f, "gMapFlat", "[*]")
	require.EqualValues(t, 1000, flat.Objects, "entries that lie in the tables count")
	require.Zero(t, flat.Bytes)
	runtime.KeepAlive(gInterior)
}
