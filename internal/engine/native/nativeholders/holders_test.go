package nativeholders

import (
	"testing"

	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/testkit/assert"
)

// Holders have all blocks that were asked for of the places with their name, and those of most
// blocks come first. Everything has all blocks, by place.
func TestResult(t *testing.T) {
	f, _ := searching(10)
	f.native.Hidden, f.inC = 4, true
	node := &attribute.Node{Name: "app.pool"}
	dotted := &attribute.Node{Name: "gopkg.in/yaml%2ev3.cache"}
	for i, p := range []Place{
		{Kind: Go, Node: node, Label: "[*].handle"},
		{Kind: Variable, Variable: "state", File: "libz.so.1"},
		{Kind: Go, Node: &attribute.Node{Name: "app.pool", Type: "another"}, Label: "[*].handle"},
		{Kind: Go, Node: dotted},
		{Kind: Go, Variable: "app.handle", Label: "c"},
		{Kind: Variable, Variable: "state", File: "liba.so.1"},
		{Kind: Mapping},
	} {
		owner := f.place(p)
		assert.EqualValues(t, i+1, owner)
		assert.Equal(t, owner, f.place(p), "the same place")
		f.owner[i] = owner
	}
	f.owner[7] = 2 // two blocks of libz's state
	f.unread = 4096
	r := f.result(func(b nativeheap.Block) bool { return b.Addr != blockAt(6) && b.Addr != blockAt(9) })
	one, two := Sum{1, 48}, Sum{2, 96}
	assert.Equal(t, []Holder{
		{Go, "app.pool[*].handle", "", two},
		{Variable, "state", "libz.so.1", two},
		{Go, "app.handle.c", "", one},
		{Go, "gopkg.in/yaml.v3.cache", "", one},
		{Variable, "state", "liba.so.1", one},
	}, r.Holders)
	assert.Equal(t, Sum{8, 8 * 48}, r.All)
	assert.Equal(t, Sum{1, 48}, r.Lost)
	assert.Equal(t, Sum{2, 96}, r.AllLost)
	assert.Equal(t, int64(4), r.Hidden)
	assert.True(t, r.InC)
	assert.Equal(t, "4096 bytes of memory were not read", r.Unread)
	assert.Len(t, r.Everything, 7)
	assert.Equal(t, two, r.Everything[1].Sum)
	assert.Equal(t, one, r.Everything[6].Sum)
	assert.Equal(t, "app.pool[*].handle", r.Everything[2].Name)
	f.unread = 0
	assert.Empty(t, f.result(func(nativeheap.Block) bool { return false }).Unread)
}

// While everything else has its turn, places that are cut lead nowhere; then what is left is the
// cut's.
func TestCutPlaces(t *testing.T) {
	f, _ := searching(4)
	var asked []string
	f.cut = &cut{paths: make(attribute.Paths), cuts: func(p *Place, path string) bool {
		asked = append(asked, path)
		return p.Variable == "app.cut"
	}}
	assert.EqualValues(t, 0, f.place(Place{Kind: Go, Variable: "app.cut", Label: "c"}))
	assert.EqualValues(t, 1, f.place(Place{Kind: Go, Variable: "app.other"}))
	assert.EqualValues(t, 2, f.place(Place{Kind: Variable, Variable: "app.cut"}), "of C")
	assert.Equal(t, []string{"app.cut.c", "app.other"}, asked)
	f.own(0, 1)
	f.own(1, 0)
	assert.Zero(t, f.cut.sum, "what something else holds is not freed")
	f.cut.after = true
	assert.EqualValues(t, 3, f.place(Place{Kind: Go, Variable: "app.cut", Label: "c"}))
	f.own(1, 3)
	f.own(2, 0)
	assert.Equal(t, Sum{1, 48}, f.cut.sum)

	var charged []attribute.Claim
	charge := (&cut{freed: func(c attribute.Claim) bool { return c.Obj == 1 }}).charge(func(_ *attribute.Node, c attribute.Claim) { charged = append(charged, c) })
	for _, c := range []attribute.Claim{{Obj: 1}, {Obj: 2}, {Obj: 1, Kind: attribute.KindEntries}} {
		charge(nil, c)
	}
	assert.Equal(t, []attribute.Claim{{Obj: 2}, {Obj: 1, Kind: attribute.KindEntries}}, charged)
}
