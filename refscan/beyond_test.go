package refscan_test

import (
	"runtime"
	"testing"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// shelves hold slices of cargo that are shorter than what their arrays keep alive.
type shelves struct {
	cut      []*cargo    // s[:1] of what was full
	emptied  []*cargo    // s[:0]
	advanced []*cargo    // s[3:]
	large    []*cargo    // s[:1], of an array that is walked in portions otherwise
	boxed    []any       // s[:1]
	structs  []pallet    // s[:1]
	removed  []*cargo    // the last two elements hold the same
	cleared  []*cargo    // nothing lies beyond
	whole    []*cargo    // len is cap
	shared   [2][]*cargo // of one array, s[:1] and s[:4]
	seen     []*cargo    // s[:1], and all of the array is held deeper below
	behind   **[]*cargo
	element  []*cargo // s[:1], and there is a pointer into the array
	inner    ***cargo
	many     [][]*cargo // s[:1] each
	list     *rail      // s[:1] in each
}

type pallet struct {
	weight int
	in     *cargo
}

type rail struct {
	next  *rail
	cargo []*cargo
}

var (
	theShelves *shelves
	cutAtOnce  []*cargo // s[:1]
)

// stock returns n cargoes, made so that nothing of the array is left in a frame.
//
//go:noinline
func stock(n int) []*cargo {
	s := make([]*cargo, n)
	for i := range s {
		s[i] = newCargo()
	}
	return s
}

//go:noinline
func fillShelves() {
	s := new(shelves)
	theShelves = s
	s.cut = stock(100)[:1]
	s.emptied = stock(8)[:0]
	s.advanced = stock(20)[3:]
	s.large = stock(100_000)[:1]
	for range 4 {
		s.boxed = append(s.boxed, newCargo())
		s.structs = append(s.structs, pallet{1, newCargo()})
	}
	s.boxed, s.structs = s.boxed[:1], s.structs[:1]
	s.removed = stock(4)
	copy(s.removed[1:], s.removed[2:])
	s.removed = s.removed[:3]
	s.cleared = stock(4)
	clear(s.cleared[1:])
	s.cleared = s.cleared[:1]
	s.whole = stock(4)
	s.shared[0] = stock(6)
	s.shared[0], s.shared[1] = s.shared[0][:1], s.shared[0][:4]
	s.seen = stock(6)
	behind := s.seen
	p := &behind
	s.seen, s.behind = s.seen[:1], &p
	s.element = stock(6)
	q := &s.element[4]
	s.element, s.inner = s.element[:1], &q
	for range 5 {
		s.many = append(s.many, stock(4)[:1])
		s.list = &rail{s.list, stock(4)[:1]}
	}
	cutAtOnce = stock(10)[:1]
}

// Objects that elements outside the length of a slice keep alive are counted, unless another
// reference leads there.
func TestBeyondTheLength(t *testing.T) {
	emptyCorpus()
	fillShelves()
	defer func() { theShelves, cutAtOnce = nil, nil }()
	runtime.GC()
	s, err := refscan.Capture(refscan.WithLog(t.Logf))
	require.NoError(t, err)
	defer s.Close()
	r, err := s.Scan()
	require.NoError(t, err)
	sound(t, r)
	type held struct{ length, capacity, objects, beyond int64 }
	got := map[string]held{}
	var walk func(path string, n *refscan.Node)
	walk = func(path string, n *refscan.Node) {
		for _, c := range n.Children {
			if c.Type == "*"+pkg+"cargo" {
				got[path] = held{n.Len, n.Cap, c.Objects, c.Beyond}
			}
			walk(symbol.JoinPath(path, c.Name), c)
		}
	}
	for _, n := range r.Fold().Roots {
		if n.Name == pkg+"theShelves" || n.Name == pkg+"cutAtOnce" {
			walk(n.Name[len(pkg):], n)
		}
	}
	want := map[string]held{
		"cut": {1, 100, 100, 99}, "emptied": {0, 8, 8, 8}, "advanced": {17, 20, 20, 3}, "large": {1, 100_000, 100_000, 99_999},
		"boxed": {1, 4, 4, 3}, "structs": {1, 4, 4, 3}, "removed": {3, 4, 3, 0}, "cleared": {0, 0, 1, 0}, "whole": {0, 0, 4, 0},
		"shared[*]": {4, 6, 6, 2}, "seen": {0, 0, 6, 0}, "element": {0, 0, 6, 0}, "many[*]": {5, 20, 20, 15}, "list.cargo": {5, 20, 20, 15},
	}
	assert.Equal(t, held{1, 10, 10, 9}, got["cutAtOnce"])
	for name, h := range want {
		assert.Equal(t, h, got["theShelves."+name], name)
	}
	require.Len(t, got, len(want)+1)
}

// Paths tell where a reference lies in an element that the slices of its holder do not reach.
func TestPathsBeyondTheLength(t *testing.T) {
	long(t)
	emptyCorpus()
	fillShelves()
	defer func() { theShelves, cutAtOnce = nil, nil }()
	s := theShelves
	captured, err := refscan.Capture()
	require.NoError(t, err)
	defer func() { require.NoError(t, captured.Close()) }()
	for _, tt := range []struct {
		name   string
		object func() *cargo
		path   string
		beyond bool
	}{
		{"of a variable", func() *cargo { return cutAtOnce[:2][1] }, "cutAtOnce[1]", true},
		{"of a variable, within", func() *cargo { return cutAtOnce[0] }, "cutAtOnce[0]", false},
		{"right behind", func() *cargo { return s.cut[:2][1] }, "theShelves.cut[1]", true},
		{"far behind", func() *cargo { return s.cut[:100][99] }, "theShelves.cut[10+]", true},
		{"within", func() *cargo { return s.cut[0] }, "theShelves.cut[0]", false},
		{"of an empty slice", func() *cargo { return s.emptied[:1][0] }, "theShelves.emptied[0]", true},
		{"the last before the length", func() *cargo { return s.advanced[16] }, "theShelves.advanced[10+]", false},
		{"of a large array", func() *cargo { return s.large[:100_000][77_777] }, "theShelves.large[10+]", true},
		{"in interfaces", func() *cargo { return s.boxed[:4][3].(*cargo) }, "theShelves.boxed[3]", true},
		{"in structs", func() *cargo { return s.structs[:4][2].in }, "theShelves.structs[2].in", true},
		{"within and behind", func() *cargo { return s.removed[2] }, "theShelves.removed[2]", false},
		{"within another slice", func() *cargo { return s.shared[1][3] }, "theShelves.shared[0][3]", false},
		{"behind two slices", func() *cargo { return s.shared[1][:6][5] }, "theShelves.shared[0][5]", true},
		{"beside a pointer into the array", func() *cargo { return s.element[:3][2] }, "theShelves.element[2]", true},
		{"one of many", func() *cargo { return s.many[2][:4][3] }, "theShelves.many[2][3]", true},
	} {
		r, paths := pathsIn(t, captured, addressOf(tt.object()), refscan.PathQuery{})
		require.Equal(t, []string{tt.path}, paths, tt.name)
		for i, st := range r.Paths[0].Steps {
			assert.Equal(t, tt.beyond && i == len(r.Paths[0].Steps)-1, st.Beyond, tt.name+": "+st.Name)
		}
	}

	// What lies before the start of a slice is found by an address that was kept elsewhere.
	first := addressOf(firstOf(&s.advanced))
	s.advanced = s.advanced[3:]
	r, _ := pathsTo(t, first, refscan.PathQuery{})
	require.Len(t, r.Paths, 1)
	last := r.Paths[0].Steps[len(r.Paths[0].Steps)-1]
	assert.True(t, last.Beyond)
}

//go:noinline
func firstOf(s *[]*cargo) *cargo { return (*s)[0] }
