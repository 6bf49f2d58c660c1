package refscan_test

import (
	"container/list"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/require"
	"github.com/leakgate/leakgate/refscan"
)

// Types that a variable, a table, an interface, a channel and a closure hold.
type (
	unnamedSmall struct {
		next *unnamedSmall
		name string
	}
	unnamedLarge struct {
		table [100]*unnamedSmall
	}
	unnamedBoxed struct {
		refs  [3]*int
		small *unnamedSmall
	}
	unnamedPlain  struct{ x [5]int }
	unnamedWhole  struct{ part unnamedPart }
	unnamedPart   struct{ refs [4]*int }
	unnamedMapped struct {
		x    int
		self *unnamedMapped
		y    [2]int
	}
)

var unnamed struct {
	holder any
	direct *unnamedLarge
	alone  *unnamedSmall
	plain  *unnamedPlain
	part   *unnamedPart
	few    map[string]*unnamedMapped
	many   map[int]*unnamedMapped
	list   *list.List
	fn     func() *unnamedBoxed
	err    error
	ch     chan *unnamedPlain
}

func fillUnnamed() {
	unnamed.holder = &unnamedBoxed{small: &unnamedSmall{}}
	unnamed.direct = new(unnamedLarge)
	for i := range unnamed.direct.table {
		unnamed.direct.table[i] = &unnamedSmall{name: "small", next: &unnamedSmall{}}
	}
	unnamed.alone = &unnamedSmall{name: "alone"}
	unnamed.plain = &unnamedPlain{x: [5]int{1}}
	unnamed.part = &(&unnamedWhole{part: unnamedPart{refs: [4]*int{new(int)}}}).part
	unnamed.few = map[string]*unnamedMapped{"x": {x: 1}, "y": {y: [2]int{1, 2}}}
	unnamed.many = make(map[int]*unnamedMapped)
	for i := range 1000 {
		unnamed.many[i] = &unnamedMapped{self: &unnamedMapped{}}
	}
	unnamed.list = list.New()
	for range 10 {
		unnamed.list.PushBack(&unnamedBoxed{})
	}
	boxed := &unnamedBoxed{refs: [3]*int{new(int)}}
	unnamed.fn = func() *unnamedBoxed { return boxed }
	unnamed.err = fmt.Errorf("wrapped: %w", fmt.Errorf("inner"))
	unnamed.ch = make(chan *unnamedPlain, 3)
	unnamed.ch <- &unnamedPlain{}
}

func scanWith(t *testing.T, opts ...refscan.CaptureOption) *refscan.Report {
	t.Helper()
	s, err := refscan.Capture(opts...)
	require.NoError(t, err)
	defer s.Close()
	r, err := s.Scan()
	require.NoError(t, err)
	return r
}

// countTypes counts the objects of each type, at whatever path.
func countTypes(nodes []*refscan.Node, into map[string]int64) {
	for _, n := range nodes {
		into[strings.TrimPrefix(n.Type, "*")] += n.Objects - n.UntypedObjects
		countTypes(n.Children, into)
	}
}

// TestAllowMissingDWARF scans the same heap with debug information and without.
func TestAllowMissingDWARF(t *testing.T) {
	fillUnnamed()
	defer func() { unnamed.holder = nil }()
	named := scanWith(t)
	require.Nil(t, named.NoDebugInfo)
	missing := scanWith(t, refscan.WithoutDebugInformation(), refscan.AllowMissingDWARF())
	require.NotNil(t, missing.NoDebugInfo)
	data, err := json.Marshal(missing)
	require.NoError(t, err)
	var read refscan.Report
	require.NoError(t, json.Unmarshal(data, &read))
	require.Equal(t, missing.NoDebugInfo.Cause, read.NoDebugInfo.Cause)
	require.Equal(t, missing.NoDebugInfo.Remedy, read.NoDebugInfo.Remedy)
	_, _, ok := read.CouldBe(reflect.TypeFor[unnamedSmall]())
	require.False(t, ok, "shapes of types are those of one process")

	// What the tool itself holds is recognised only by the names of its variables.
	const own, late = 64 << 10, 8 << 10
	require.InDelta(t, named.Totals.LiveBytes, missing.Totals.LiveBytes, own)
	require.InDelta(t, named.Totals.AttributedBytes, missing.Totals.AttributedBytes, own)
	require.Zero(t, missing.Totals.ExtraBytes)
	require.LessOrEqual(t, missing.Totals.MissedBytes, int64(late))
	require.Greater(t, 2*missing.Totals.TypedBytes, missing.Totals.AttributedBytes)

	with, without := make(map[string]int64), make(map[string]int64)
	countTypes(named.Roots, with)
	countTypes(missing.Roots, without)
	for _, c := range []struct {
		typ   reflect.Type
		known bool // all objects have a type
	}{
		{reflect.TypeFor[unnamedSmall](), false}, // that of alone is not known
		{reflect.TypeFor[unnamedLarge](), true},
		{reflect.TypeFor[unnamedBoxed](), false}, // that of the closure's is not known
		{reflect.TypeFor[unnamedPlain](), false},
		{reflect.TypeFor[unnamedWhole](), false},
		{reflect.TypeFor[unnamedMapped](), false},
		{reflect.TypeFor[list.Element](), false},
	} {
		name := c.typ.PkgPath() + "." + c.typ.Name()
		more, bytes, ok := missing.CouldBe(c.typ)
		t.Logf("%s: %d, without names %d and perhaps %d more", c.typ, with[name], without[name], more)
		require.True(t, ok)
		require.LessOrEqual(t, without[name], with[name], name)
		require.GreaterOrEqual(t, without[name]+more, with[name], name)
		require.Equal(t, more == 0, bytes == 0)
		if c.known {
			require.Equal(t, with[name], without[name], name)
			require.Zero(t, more, name)
		}
	}
	const here = "github.com/leakgate/leakgate/refscan_test."
	require.Equal(t, int64(202), with[here+"unnamedSmall"])
	require.Equal(t, int64(201), without[here+"unnamedSmall"])
	require.GreaterOrEqual(t, without[here+"unnamedMapped"], int64(2000), "the tables of a large map have a type")
	for _, typ := range []reflect.Type{
		reflect.TypeFor[map[string]int](), reflect.TypeFor[[]int](), reflect.TypeFor[string](), reflect.TypeFor[chan int](),
		reflect.TypeFor[func()](), reflect.TypeFor[int](), reflect.TypeFor[struct{}](),
	} {
		_, _, ok := missing.CouldBe(typ)
		require.False(t, ok, typ)
	}
	objects, _, ok := named.CouldBe(reflect.TypeFor[unnamedSmall]())
	require.True(t, ok)
	require.Zero(t, objects)
}

// TestAllowMissingDWARFRefused: without the option, missing debug information is an error.
func TestAllowMissingDWARFRefused(t *testing.T) {
	_, err := refscan.Capture(refscan.WithoutDebugInformation())
	require.ErrorContains(t, err, "the test has no debug information (do without)")
	s, err := refscan.Capture(refscan.WithoutDebugInformation(), refscan.AllowMissingDWARF())
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Stacks()
	require.ErrorContains(t, err, "the test has no debug information")
}
