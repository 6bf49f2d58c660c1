package tree_test

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

func TestGrowthOfWhatIsOver(t *testing.T) {
	conns := func(all, closed int64) tree.Forest {
		n := node("$mapval", "*net.conn", all, 96*all)
		n.Ended, n.EndedState = closed, "closed"
		return tree.GrowForest(report(global(node("example.com/app.conns", "map[string]*net.conn", 1, 48, n), "", 0)))
	}
	grown := conns(7, 4).Growth(conns(4, 4))
	if b := grown[0].Children[0]; b.Objects != 3 || b.Ended != 0 {
		t.Errorf("%d objects were added, %d of them are over; want 3 and 0", b.Objects, b.Ended)
	}
}

// paths returns the paths of all branches, parents first.
func paths(f tree.Forest) (all []string) {
	f.All(func(b *tree.Branch) bool {
		all = append(all, b.Path)
		return true
	})
	return all
}

// figures returns the own objects of all branches by their paths.
func figures(f tree.Forest) map[string]int64 {
	all := make(map[string]int64)
	f.All(func(b *tree.Branch) bool {
		all[b.Path] += b.Objects
		return true
	})
	return all
}

func pattern(t *testing.T, text string) naming.Pattern {
	t.Helper()
	p, err := naming.CompilePathPattern(text)
	assert.NoError(t, err, text)
	return p
}

// A forest has the paths and totals of a folded report, without the tool's own memory, which is not
// the program's.
func TestGrowForest(t *testing.T) {
	f := tree.GrowForest(report(
		global(node("example.com/app.conns", "[]*example.com/app.conn", 1, 8,
			node("[0]", "*example.com/app.conn", 1, 96, node("buf", "[]uint8", 1, 512)),
			node("[10+]", "*example.com/app.conn", 4, 384, node("buf", "[]uint8", 4, 2048)),
			node("base", "*github.com/leakgate/leakgate/refscan.Report", 7, 700),
			node("names", "map[string]string", 1, 48, node("[0]", "[]runtime.ancestorInfo", 5, 500)),
		), "", 0),
		global(node("github.com/leakgate/leakgate/leakcheck.options", "[]int", 3, 300), "", 0),
		node("gopkg.in/yaml%2ev3.cache", "*gopkg.in/yaml%2ev3.Node", 1, 64),
	))
	assert.Equal(t, []string{
		"example.com/app.conns", "example.com/app.conns[*]", "example.com/app.conns[*].buf", "example.com/app.conns.names", "gopkg.in/yaml.v3.cache",
	}, paths(f))
	conns, cache := f[0], f[1]
	assert.Equal(t, tree.Tally{Objects: 12, Bytes: 8 + 96 + 512 + 384 + 2048 + 48}, conns.Total)
	assert.Equal(t, tree.Tally{Objects: 13, Bytes: 3160}, f.Total())
	assert.Equal(t, tree.Tally{Objects: 1, Bytes: 8}, conns.Own())
	assert.Equal(t, tree.Tally{Objects: 10, Bytes: 3040}, conns.Children[0].Total)
	assert.Equal(t, conns, conns.Children[0].Children[0].Line()[0])
	assert.Equal(t, "*gopkg.in/yaml.v3.Node", cache.Typ)
	assert.Equal(t, refscan.RootOther, cache.Root.Kind, "a root without information")
	assert.Equal(t, "gopkg.in/yaml.v3", cache.Root.Package)
	assert.Equal(t, []string{"example.com/app.conns"}, func() (all []string) {
		f[:1].All(func(b *tree.Branch) bool { all = append(all, b.Path); return false })
		return all
	}(), "what is below is skipped")
	assert.Len(t, tree.NodeKeys(conns.Children), 2)
	assert.NotEqual(t, tree.NodeKeys(conns.Children)[0], tree.NodeKeys(conns.Children)[1])
}

// What grew is told by path, type and the place of the go statement. Ends of a list count each by
// itself, and share a key.
func TestGrowth(t *testing.T) {
	at := func(one, other, next, prev, room int64) tree.Forest {
		worker := func(place string, n int64) *refscan.Node {
			return frame(node("example.com/app.work.p", "*example.com/app.pool", n, 64*n), refscan.RootInfo{Func: "example.com/app.work", CreatedAt: place})
		}
		end := func(name string, n int64) *refscan.Node {
			e := node(name, "*example.com/app.element", n, 32*n)
			e.Recursion = name
			return e
		}
		list := node("example.com/app.list", "*example.com/app.list", 1, 16+room, end("next", next), end("prev", prev))
		list.RoomBytes = room
		return tree.GrowForest(report(worker("a.go:1", one), worker("a.go:2", other), global(list, "", 0)))
	}
	grown := at(5, 3, 9, 4, 40).Growth(at(2, 3, 3, 3, 8))
	assert.Equal(t, int64(3), grown[0].Objects)
	assert.Equal(t, int64(0), grown[1].Objects, "the goroutines of another go statement")
	next, prev := grown[2].Children[0], grown[2].Children[1]
	assert.Equal(t, int64(6), next.Objects)
	assert.Equal(t, int64(1), prev.Objects)
	assert.Equal(t, next.GrowthKey(), prev.GrowthKey())
	assert.NotEqual(t, grown[0].GrowthKey(), grown[1].GrowthKey())
	assert.NotEqual(t, grown[2].GrowthKey(), next.GrowthKey())
	assert.Equal(t, int64(40), grown[2].RoomBytes, "the room of now")
	assert.Equal(t, int64(32), grown[2].Bytes)
	assert.Equal(t, tree.Tally{Objects: 7, Bytes: 32 + 7*32}, grown[2].Total)
	assert.Equal(t, grown[2], next.Parent, "branches of the copy")
	same := at(1, 1, 1, 1, 0)
	assert.Equal(t, tree.Tally{}, same.Growth(same).Total())
	assert.Equal(t, same.Total(), same.Growth(nil).Total())
}

// What lies beyond the length of slices, and map entries inside of their tables, are told by the
// figures.
func TestKindsOfBranches(t *testing.T) {
	array := node("example.com/app.list", "[]*example.com/app.T", 1, 8192, node("[0]", "*example.com/app.T", 10, 640), node("other", "*example.com/app.T", 9, 9))
	array.Children[0].Beyond = 6
	outside := func(capacity int64) (int64, int64) {
		array.Cap = capacity
		return tree.GrowForest(report(global(array, "", 0)))[0].OutsideBelow()
	}
	beyond, all := outside(0)
	assert.Equal(t, []int64{0, 0}, []int64{beyond, all}, "a reference of another kind leads to the array")
	beyond, all = outside(16)
	assert.Equal(t, []int64{6, 10}, []int64{beyond, all})
	list := tree.GrowForest(report(global(array, "", 0)))[0]
	assert.True(t, list.IsBeyondLength())
	assert.True(t, list.Children[0].IsBeyondLength())
	assert.False(t, list.Children[1].IsBeyondLength())
	array.Children[0].Beyond = 5
	list = tree.GrowForest(report(global(array, "", 0)))[0]
	assert.False(t, list.IsBeyondLength() || list.Children[0].IsBeyondLength(), "half of them")

	table := tree.GrowForest(report(global(node("example.com/app.m", "map[int]int", 1, 512, node("$mapval", "int", 9, 0), node("$mapkey", "string", 9, 144)), "", 0)))[0]
	assert.True(t, table.Children[0].IsEntries())
	assert.False(t, table.Children[1].IsEntries())
	assert.False(t, table.IsEntries())

	for typ, want := range map[string]bool{"*runtime.g": true, "runtime.sudog": true, "**runtime.g": true, "*runtime.m": false, "*example.com/app.g": false} {
		assert.Equal(t, want, (&tree.Branch{Typ: typ}).BelongsToGoroutine(), typ)
	}
	for ended, want := range map[int64]bool{0: false, 2: false, 3: true} {
		assert.Equal(t, want, (&tree.Branch{Figures: refscan.Figures{Objects: 3, Ended: ended}}).IsOver(), ended)
	}
	for typ, want := range map[string]bool{
		"*sync.Map": true, "internal/sync.HashTrieMap[string,int]": true, "*internal/sync.indirect[string,int]": true, "*internal/sync.node[string,int]": true,
		"[]sync.poolLocal": true, "*sync.poolChainElt": true, "map[string]int": false, "*sync.Mutex": false, "*example.com/app.Map": false,
	} {
		b := tree.GrowForest(report(global(node("example.com/app.v", "struct {}", 1, 8, node("x", typ, 1, 8)), "", 0)))[0]
		assert.Equal(t, want, b.Varies(), typ)
	}
}

// What no path leads to is a root of its own, which is not the program's.
func TestMissed(t *testing.T) {
	assert.Nil(t, tree.Missed(refscan.Totals{}))
	assert.Nil(t, tree.Missed(refscan.Totals{MissedObjects: -1}))
	b := tree.Missed(refscan.Totals{MissedObjects: 3, MissedBytes: 96})
	assert.True(t, b.IsMissed())
	assert.Equal(t, tree.Tally{Objects: 3, Bytes: 96}, b.Total)
	b.Root.Kind = refscan.RootGlobal
	assert.False(t, b.IsMissed())
	assert.False(t, tree.GrowForest(report(global(node("example.com/app.x", "int", 1, 8), "", 0)))[0].IsMissed())
}

func TestTallies(t *testing.T) {
	a, b := tree.Tally{Objects: 3, Bytes: 96}, tree.Tally{Objects: 1, Bytes: 128}
	assert.Equal(t, tree.Tally{Objects: 4, Bytes: 224}, a.Plus(b))
	assert.Equal(t, tree.Tally{Objects: 2}, a.Beyond(b))
	assert.Equal(t, "1 object, 128 B", b.Text())
	assert.Positive(t, tree.CompareTallies(tree.ObjectsOf, a, b))
	assert.Less(t, tree.CompareTallies(tree.BytesOf, a, b), 0)
	assert.Less(t, tree.CompareTallies(tree.ObjectsOf, a, tree.Tally{Objects: 3, Bytes: 97}), 0)
	limit := func(n int64) *int64 { return &n }
	for _, tt := range []struct {
		objects, bytes *int64
		want           string
	}{
		{nil, nil, ""},
		{limit(3), limit(96), ""},
		{limit(2), nil, "1 object more than allowed"},
		{nil, limit(90), "6 B more than allowed"},
		{limit(0), limit(0), "3 objects and 96 B more than allowed"},
	} {
		assert.Equal(t, tt.want, a.Over(tt.objects, tt.bytes))
	}
}

// A trace goes to the largest child until a branch has half of its total by itself.
func TestTraces(t *testing.T) {
	root := tree.GrowForest(report(global(node("example.com/app.srv", "*example.com/app.Server", 1, 100,
		node("few", "[]uint8", 50, 60),
		node("conns", "[]*example.com/app.conn", 1, 80, node("[0]", "*example.com/app.conn", 9, 900, node("buf", "[]uint8", 9, 800))),
	), "", 0)))[0]
	names := func(tr *tree.Trace) (all []string) {
		for _, b := range tr.Branches {
			all = append(all, b.Name)
		}
		return all
	}
	bytes := tree.TraceTo(root, true, tree.BytesOf)
	assert.Equal(t, []string{"example.com/app.srv", "conns", "[*]"}, names(bytes))
	assert.Equal(t, "[*]", bytes.Last().Name)
	assert.Equal(t, []string{"example.com/app.srv", "few"}, names(tree.TraceTo(root, true, tree.ObjectsOf)))
	assert.Equal(t, []string{"example.com/app.srv"}, names(tree.TraceTo(root, false, tree.BytesOf)))
	half := tree.GrowForest(report(global(node("example.com/app.a", "*int", 1, 8, node("b", "*int", 1, 8)), "", 0)))[0]
	assert.Equal(t, []string{"example.com/app.a"}, names(tree.TraceTo(half, true, tree.BytesOf)), "half of all by itself")
	assert.Equal(t, bytes.Last(), bytes.Spread())
	assert.Nil(t, tree.TraceTo(root, false, tree.BytesOf).Spread(), "the root is no place below one")
	empty := tree.TraceTo(tree.GrowForest(report(global(node("example.com/app.a", "", 0, 0, node("b", "", 0, 8)), "", 0)))[0].Children[0], false, tree.BytesOf)
	assert.Nil(t, empty.Spread())

	path := refscan.RetainingPath{
		Root: refscan.RootInfo{Kind: refscan.RootGlobal, Package: "gopkg.in/yaml.v3"}, Name: "gopkg.in/yaml%2ev3.cache", Type: "*gopkg.in/yaml%2ev3.Cache",
		Steps: []refscan.PathStep{{}, {Name: "m", Type: "map[string]*gopkg.in/yaml%2ev3.Node"}, {Name: "$mapval.next", Type: "*gopkg.in/yaml%2ev3.Node"}},
	}
	tr := tree.TraceOfPath(path)
	assert.Equal(t, []string{"gopkg.in/yaml.v3.cache", "m", "[*].next"}, names(tr))
	assert.Equal(t, "gopkg.in/yaml.v3.cache.m[*].next", tr.Last().Path)
	assert.Equal(t, "*gopkg.in/yaml.v3.Node", tr.Last().Typ)
	assert.Equal(t, tr.Branches, tr.Last().Line())
	assert.Equal(t, refscan.RootGlobal, tree.RootOfPath(path).Root.Kind)
}
