package refscan_test

import (
	"container/list"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// program returns the inventory of this test.
func program(t testing.TB) *debuginfo.Inventory {
	t.Helper()
	x, err := debuginfo.Open(t.Context(), debuginfo.Options{})
	require.NoError(t, err)
	return &debuginfo.Inventory{Index: x}
}

// What pathsArePossible has looked at in any test: paths, and the types of variables.
var pathsJudged, typesOfVariables sync.Map

// pathsArePossible fails the test if a path from a variable goes by a field that is said to
// be missing, except below types of the standard library.
func pathsArePossible(t testing.TB, r *refscan.Report) {
	t.Helper()
	p := program(t)
	var walk func(root, path string, n *refscan.Node)
	walk = func(root, path string, n *refscan.Node) {
		// A longer path goes by the same fields.
		if len(n.Children) == 0 {
			if _, known := pathsJudged.LoadOrStore(root+path, true); known {
				return
			}
			types, known := typesOfVariables.Load(root)
			if !known {
				types = p.TypesOf(root)
				typesOfVariables.Store(root, types)
			}
			var m *debuginfo.MissingField
			for _, typ := range types.([]debuginfo.TypeID) {
				if m = debuginfo.FieldMissing(p.Index, typ, path); m == nil {
					break
				}
			}
			if m != nil && (strings.HasPrefix(m.Struct, "struct {") || !symbol.OwnModules().IsStandard(symbol.Package(m.Struct))) {
				t.Errorf("%s%s is said to have no field %s at %q: it is a %s", root, path, m.Name, m.Path, m.Struct)
			}
		}
		for _, c := range n.Children {
			name := symbol.FoldPath(c.Name)
			if !strings.HasPrefix(name, "[") {
				name = "." + name
			}
			walk(root, path+name, c)
		}
	}
	for _, n := range r.Roots {
		if n.Root != nil && (n.Root.Kind == refscan.RootGlobal || n.Root.Kind == refscan.RootFrame) {
			walk(n.Name, "", n)
		}
	}
}

type (
	depot struct {
		goods []*cargo
		*annex
		lot[int]
		ByName  map[string]struct{ last *cargo }
		ByPlace map[place]*depot
		Two     [2]wing
		Any     any
		Act     func()
		Queue   chan *cargo
		Current atomic.Pointer[wing]
		Table   sync.Map
		Order   list.List
		_       int
	}
	annex             struct{ Spare []*cargo }
	lot[T comparable] struct{ entries map[T]*cargo }
	place             struct{ At *cargo }
	wing              struct{ left *cargo }
	hall              struct{ part *wing }
	palace            struct {
		wing
		right *cargo
	}
)

var (
	depotHeld = &depot{annex: &annex{}}
	hallHeld  = hall{part: &new(palace).wing}
	lotHeld   lot[string]
	bareHeld  struct{ one, two *cargo }
)

//go:noinline
func depotUser(d *depot) {
	runtime.Gosched() // meanwhile d is in the frame
	runtime.KeepAlive(d)
}

func TestMissingField(t *testing.T) {
	depotUser(depotHeld)
	depotHeld.goods = append(depotHeld.goods, newCargo())
	depotHeld.entries = map[int]*cargo{1: newCargo()}
	hallHeld.part.left = newCargo()
	lotHeld.entries = map[string]*cargo{"": newCargo()}
	bareHeld.one = newCargo()
	keptAlive := &palace{right: newCargo()}
	defer func() {
		runtime.KeepAlive(keptAlive)
		*depotHeld, hallHeld, lotHeld, bareHeld.one = depot{annex: &annex{}}, hall{}, lot[string]{}, nil
	}()
	p := program(t)
	r, err := scanned()
	require.NoError(t, err)
	pathsArePossible(t, r)
	fields := "goods annex annex.Spare lot lot.entries ByName ByPlace Two Any Act Queue Current Table Order"
	for _, c := range []struct{ variable, path, want string }{
		{"depotHeld", ".gods[*]", "|gods|" + fields},
		{"depotHeld", ".Spare[*]", "|Spare|" + fields},
		{"depotHeld", ".annex.Spares", ".annex|Spares|Spare"},
		{"depotHeld", ".lot.entry[*].dat", ".lot|entry|entries"},
		{"depotHeld", ".goods[*].dat", ".goods[*]|dat|id data"},
		{"depotHeld", ".ByName[*].lasts", ".ByName[*]|lasts|last"},
		{"depotHeld", ".ByPlace[$key].on", ".ByPlace[$key]|on|At"},
		{"depotHeld", ".ByPlace[*].goods[*].dat", ".ByPlace[*].goods[*]|dat|id data"},
		{"depotHeld", ".Two[*].lefts.data", ".Two[*]|lefts|left"},
		{"bareHeld", ".three", "|three|one two"},
		{"lotHeld", ".entry", "|entry|entries"},
		{"hallHeld", ".part.wrong", ".part|wrong|left"},

		{"depotUser.d", ".gods[*]", "|gods|" + fields},

		// What is there, and what nobody can tell.
		{"depotUser.d", ".goods[*].data", ""},
		{"depotUser.noSuchVariable", ".x", ""},
		{"depotHeld", "", ""},
		{"depotHeld", ".annex.Spare[*].data", ""},
		{"depotHeld", ".Two[*].left.data", ""},
		{"depotHeld", ".goods.dat", ""},
		{"depotHeld", ".Any.x", ""},
		{"depotHeld", ".Act.x", ""},
		{"depotHeld", ".Queue[*].x", ""},
		{"depotHeld", ".ByName[$key].x", ""},
		{"depotHeld", ".$fn", ""},
		{"depotHeld", ".?", ""},
		{"depotHeld", ".goods[*]?", ""},
		{"depotHeld", "[*].x", ""},
		{"hallHeld", ".part.right", ""}, // a part may be that of a palace
		{"hallHeld", ".part.wing.left", ""},
		{"noSuchVariable", ".x", ""},

		// Types of the standard library have other fields than in their declarations.
		{"depotHeld", ".Current.left", ".Current|left|"},
		{"depotHeld", ".Table[*]", ""},
		{"depotHeld", ".Order.root.next.Value.x", ""},
	} {
		got := ""
		if m := p.MissingField(pkg+c.variable, c.path); m != nil {
			got = fmt.Sprintf("%s|%s|%s", m.Path, m.Name, strings.Join(m.Fields, " "))
			if symbol.Package(m.Struct) == "sync/atomic" {
				got = got[:strings.LastIndexByte(got, '|')+1]
			}
		}
		assert.Equal(t, c.want, got, c.variable+c.path)
	}
}

type (
	fnType    func(int) *cargo
	ifaceType interface{ cargo() *cargo }
)

var (
	funcHeld  = []fnType{func(int) *cargo { return nil }}
	ifaceHeld []ifaceType
)

func TestKnownType(t *testing.T) {
	p := program(t)
	runtime.KeepAlive(funcHeld[0](0))
	runtime.KeepAlive(ifaceHeld)
	for name, want := range map[string]string{
		pkg + "cargo":                    "true true",
		"*" + pkg + "cargo":              "true true",
		"[]uint8":                        "true true",
		pkg + "fnType":                   "true false",
		pkg + "ifaceType":                "true false",
		"error":                          "true false",
		"func " + pkg + "TestKnownType":  "true true",
		"func " + pkg + "noSuchFunction": "false false",
		pkg + "TestKnownType":            "false false",
	} {
		assert.Equal(t, want, fmt.Sprint(p.KnownType(func(n string) bool { return n == name })), name)
	}
}
