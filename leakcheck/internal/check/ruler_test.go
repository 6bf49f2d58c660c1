package check

import (
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

func TestMeasure(t *testing.T) {
	untyped := node("blob", "*example.com/app.T", 3, 300)
	untyped.UntypedObjects = 2
	long := node("leaf", "*example.com/app.T", 5, 500)
	for i := range 12 {
		long = node(fmt.Sprintf("n%02d", i), "*example.com/app.T", 1, 16, long)
	}
	var wide []*refscan.Node
	for i := range 50 {
		wide = append(wide, node(fmt.Sprintf("f%02d", i), "*example.com/app.T", 1, 32, node("x", "*example.com/app.U", 1, 8)))
	}
	r := report(
		global(node("example.com/app.a", "", 0, 0,
			withElems(node("small", "map[string]*int", 1, 336, node("$mapval", "*int", 3, 48)), 6), // as large as blocks that they share
			withElems(node("middle", "map[int]int", 1, 9000, node("$mapval", "int", 100, 0)), 100),
			withElems(node("big", "map[int]*example.com/app.T", 1, 90000, node("$mapval", "*example.com/app.T", 5000, 80000)), 5000),
			node("ids", "[]string", 1, 1600, node("[0]", "string", 70, 1120)),
			node("text", "string", 2, 60000),
			node("sum", "*complex128", 3, 48),
			node("client", "*net/http.Client", 1, 48),
			node("queue", "[]*net/http.wantConn", 1, 16),
			node("times", "[]time.Time", 1, 480),
			node("own", "*app/sub.T", 1, 48),
			withElems(node("smap", "sync.Map", 1, 33000, node("$mapval", "*int", 300, 4800)), 300),
			node("shared", "internal/sync.indirect[string,int]", 9, 900),
			node("pool", "[]sync.poolLocal", 1, 128, node("[0]", "*example.com/app.T", 4, 64)),
			untyped,
			long,
		), "", 0),
		global(node("example.com/app.wide", "", 0, 0, wide...), "", 0),
		global(node("example.com/app..typeAssert.0", "", 1, 48), "", 0),
	)
	forest := tree.GrowForest(r)
	ruler := &Ruler{Modules: symbol.ModulesOf(&debug.BuildInfo{Main: debug.Module{Path: "app"}}), Listed: func(string) bool { return false }}
	measured := ruler.Measure(forest)
	var got []string
	for _, m := range measured {
		got = append(got, fmt.Sprintf("%d %d~%d %s %s", m.Objects, m.Bytes, m.BytesTolerance, strings.TrimPrefix(m.Path, "example.com/"), m.Type))
	}
	want := []string{
		"1 336~0 app.a.small map[string]*int",
		"3 0~0 app.a.small[*] *int",
		"1 9000~100 app.a.middle map[int]int",
		"100 0~0 app.a.middle[*] int",
		"1 0~0 app.a.big map[int]*example.com/app.T",
		"5000 80000~0 app.a.big[*] *example.com/app.T",
		"1 1600~100 app.a.ids []string",
		"70 1120~100 app.a.ids[*] string",
		"2 60000~100 app.a.text string",
		"3 48~0 app.a.sum *complex128",
		"1 0~0 app.a.client *net/http.Client",
		"1 0~0 app.a.queue []*net/http.wantConn",
		"1 480~100 app.a.times []time.Time",
		"1 48~0 app.a.own *app/sub.T",
		"1 0~0 app.a.smap sync.Map",
		"300 0~0 app.a.smap[*] *int",
		"3 300~100 app.a.blob *example.com/app.T",
	}
	path := "app.a"
	for i := 11; i > 3; i-- {
		path += fmt.Sprintf(".n%02d", i)
		want = append(want, "1 16~0 "+path+" *example.com/app.T")
	}
	want = append(want, "9 564~0 "+path+".** *", "100 2000~0 app.wide.** *")
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}

	// A file that was made with these sums holds when the same memory is spelled out.
	c := &Comparison{File: golden.New(measured)}
	ruler.Listed = c.listed
	spelledOut := ruler.Measure(forest)
	assert.Greater(t, len(spelledOut), len(measured))
	c.Compare(spelledOut)
	assert.True(t, c.Ok())
	assert.Empty(t, c.Improvements())
	assert.False(t, c.Changed())
}

// A figure that differs between runs which retain the same has a tolerance, or is left out.
func TestLine(t *testing.T) {
	for _, tt := range []struct {
		typ                   string
		objects, bytes, elems int64
		want                  string // objects, bytes and tolerance
	}{
		{"map[int]int", 1, 400, 8, "1 400~0"},
		{"map[int]int", 1, 800, 9, "1 800~100"},
		{"map[int]int", 1, 40000, 896, "1 40000~100"},
		{"map[int]int", 1, 80000, 897, "1 0~0"},
		{"*example.com/app.T", 1, 800, 897, "1 800~0"},
		{"*int32", 4, 16, 0, "4 0~0"},
		{"*int32", 4, 64, 0, "4 0~0"},
		{"*string", 1, 16, 0, "1 16~0"},
		{"string", 10, 159, 0, "10 0~0"},
		{"string", 10, 160, 0, "10 160~100"},
		{"[]uint8", 10, 159, 0, "10 0~0"},
		{"[]uint8", 10, 160, 0, "10 160~100"},
		{"[]*int", 10, 80, 0, "10 80~100"},
		{"", 2, 80, 0, "2 80~100"},
		{"sync.Pool", 2, 80, 0, "2 0~0"},
		{"net/http.header", 2, 80, 0, "2 0~0"},
		{"[]net/http.header", 2, 80, 0, "2 0~0"},
		{"[]net/http.Header", 2, 80, 0, "2 80~100"},
		{"*net/http.Header", 2, 80, 0, "2 0~0"},
		{symbol.NativeBlock, 2, 80, 0, "2 80~100"},
	} {
		b := tree.GrowForest(report(global(withElems(node("example.com/app.v", tt.typ, tt.objects, tt.bytes), tt.elems), "", 0)))[0]
		m := (&Ruler{}).line(b)
		assert.Equal(t, tt.want, fmt.Sprintf("%d %d~%d", m.Objects, m.Bytes, m.BytesTolerance), tt)
	}
	lost := node("lost", symbol.NativeBlock, 2, 80)
	lost.Root = &refscan.RootInfo{Kind: refscan.RootNative}
	assert.Equal(t, golden.Measurement{Path: "lost", Type: symbol.NativeBlock, Bytes: 80, BytesTolerance: tree.OneStep}, (&Ruler{}).line(tree.GrowForest(report(lost))[0]),
		"how many blocks are lost differs between machines")
}

// A root that is new to the file has forty lines at most, and none deeper than eight edges.
func TestLimitsOfLines(t *testing.T) {
	of := func(children int, listed bool) []golden.Measurement {
		var all []*refscan.Node
		for i := range children {
			all = append(all, node(fmt.Sprintf("f%02d", i), "*example.com/app.T", 1, 32))
		}
		r := &Ruler{Listed: func(root string) bool { return listed && root == "example.com/app.v" }}
		return r.Measure(tree.GrowForest(report(global(node("example.com/app.v", "*example.com/app.T", 1, 8, all...), "", 0))))
	}
	assert.Len(t, of(39, false), 40)
	assert.Equal(t, []golden.Measurement{
		{Path: "example.com/app.v", Type: "*example.com/app.T", Objects: 1, Bytes: 8}, {Path: "example.com/app.v.**", Type: "*", Objects: 40, Bytes: 1280},
	}, of(40, false))
	assert.Len(t, of(40, true), 41)

	var deep []*refscan.Node
	for i := range 10 {
		var leaves []*refscan.Node
		for k := range 5 {
			leaves = append(leaves, node(fmt.Sprintf("l%d", k), "*example.com/app.T", 1, 32))
		}
		deep = append(deep, node(fmt.Sprintf("f%d", i), "*example.com/app.T", 1, 32, leaves...))
	}
	for range 6 {
		deep = []*refscan.Node{node("next", "*example.com/app.T", 1, 32, deep...)}
	}
	forest := tree.GrowForest(report(global(node("example.com/app.v", "*example.com/app.T", 1, 8, deep...), "", 0)))
	assert.Len(t, (&Ruler{Listed: func(string) bool { return true }}).Measure(forest), 7+10+50)
	assert.Len(t, (&Ruler{Listed: func(string) bool { return false }}).Measure(forest), 7+10+10, "no more is summed up than needed")
}
