package alloc

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

type (
	badge                       uint64
	label                       string
	pairOf[K comparable, V any] struct {
		key   K
		value V
		_     *pairOf[K, V]
	}
)

var (
	keptText  string
	keptRunes []rune
	keptPairs any
	keptNodes []node
	keptChan  chan *node
)

//go:noinline
func newPair[K comparable, V any](k K, v V) *pairOf[K, V] { return &pairOf[K, V]{key: k, value: v} }

//go:noinline
func inlinedInto() *entry { return makeEntry() }

func makeEntry() *entry { return new(entry) }

// tellable has operations of one allocation, or two, and the types that the code at the calls
// tells.
var tellable = []struct {
	name string
	row  string // that counts it
	op   func()
}{
	{"node", "node", func() { keptNode = new(node) }},
	{"entry", "entry", func() { keptEntry = inlinedInto() }},
	{"[]entry", "[]entry", func() { keptEntries = make([]entry, 5) }},
	{"[]entry", untyped, func() { keptEntries = append([]entry(nil), entry{}) }},
	{"[]node", "node", func() { keptNodes = append([]node(nil), node{}) }},
	{"[]uint8", untyped, func() { keptBytes = append([]byte(nil), keptText...) }},
	{"[]int32", untyped, func() { keptRunes = []rune(keptText) }},
	{"string", untyped, func() { keptText = keptText[:30] + keptText[:20] }},
	{"badge", "values of kind uint64 in interfaces", func() { keptAny = badge(len(keptText) + 1000) }},
	{"label", "values of kind string in interfaces", func() { keptAny = label(keptText) }},
	{"pairOf[string,*entry]", "pairOf[string,*entry]", func() { keptPairs = &pairOf[string, *entry]{key: keptText} }},
	{"pairOf[go.shape.int,go.shape.string]", "pairOf[go.shape.int,go.shape.string]", func() { keptPairs = newPair(len(keptText), keptText) }},
	{"map[string]*entry", "map[string]*entry", func() { keptMap = map[string]*entry{}; keptMap["a"] = nil }},
}

// A channel's header and elements are two objects, of two rows.
func TestSitesOfAChannel(t *testing.T) {
	op := func() { keptChan = make(chan *node, 3) }
	const calls = 10
	r, err := record(opOf(op), calls, time.Minute)
	require.NoError(t, err)
	found := make(map[string]int64)
	for _, s := range sites(opOf(op), calls, sizeClasses(), time.Minute) {
		for _, n := range r.rows {
			if s.of != nil && s.of.name == "chan *"+typePath+"node" && s.of.in(n) {
				found[n.name] += s.objects
			}
		}
	}
	assert.Equal(t, map[string]int64{"runtime.hchan": calls, "[]*" + typePath + "node": calls}, found)
}

// The code at the calls tells the types that the stacks of an operation allocate, and so their
// rows.
func TestSitesAreTold(t *testing.T) {
	keptText = strings.Repeat("text", 20)
	const calls = 10
	for _, c := range tellable {
		short := func(name string) string {
			return strings.ReplaceAll(name, "github.com/leakgate/leakgate/leakcheck/internal/alloc.", "")
		}
		var names []string
		for _, s := range sites(opOf(c.op), calls, sizeClasses(), time.Minute) {
			if s.objects < s.fewest(calls) {
				continue // of another goroutine
			}
			name := "not told"
			if s.of != nil {
				name = short(s.of.name)
				rows := []*row{{name: c.row, sizes: map[int64]int64{s.size: 1}}, {name: c.row, line: s.of.line}}
				rows[0].name = strings.NewReplacer("node", typePath+"node", "entry", typePath+"entry", "pairOf", typePath+"pairOf").Replace(c.row)
				isRow := s.of.in(rows[0]) || s.of.line != "" && s.of.in(rows[1]) || s.of.name == mapHeaders
				assert.True(t, isRow, "%s is not of %s", name, c.row)
			}
			names = append(names, name)
		}
		if strings.HasPrefix(c.row, "values of kind ") && RaceDetector {
			continue // the race detector's calls lie between
		}
		assert.Contains(t, names, c.name, c.name)
		assert.NotContains(t, names, "not told", c.name)
	}
}

const typePath = "github.com/leakgate/leakgate/leakcheck/internal/alloc."

// The bytes of a string are no object of type string: a bound on *string is not broken by them.
func TestTextIsNoStringHeader(t *testing.T) {
	bytes, header := &kind{name: "string", untold: true}, &kind{name: "string", pointer: true}
	assert.False(t, bytes.in(&row{name: "string", typed: true}))
	assert.True(t, bytes.in(&row{name: untyped}))
	assert.True(t, header.in(&row{name: "string", typed: true}))
	assert.False(t, header.in(&row{name: untyped}))
}

// The code does not tell the types that reflection allocates.
func TestSitesOfReflection(t *testing.T) {
	types := []reflect.Type{reflect.TypeFor[entry](), reflect.TypeFor[node]()}
	for _, s := range sites(opOf(func() { keptAny = reflect.New(types[0]).Interface() }), 10, sizeClasses(), time.Minute) {
		if s.objects >= 10 {
			assert.Nil(t, s.of)
		}
	}
}
