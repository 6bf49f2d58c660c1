package finding

import (
	"errors"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// grown is a snapshot of handmade variables.
func grown(calls int64, roots ...*refscan.Node) *Snapshot {
	return &Snapshot{Calls: calls, Goroutines: map[goroutine.Origin]goroutine.Pile{}, Forest: tree.GrowForest(&refscan.Report{Roots: roots})}
}

// variable is a package variable that refers to the children.
func variable(name, typ string, children ...*refscan.Node) *refscan.Node {
	return &refscan.Node{
		Name: "example.com/app." + name, Type: typ, Figures: refscan.Figures{Objects: 1, Bytes: 64},
		Root: &refscan.RootInfo{Kind: refscan.RootGlobal, Package: "example.com/app"}, Children: children,
	}
}

func objects(name, typ string, n int64) *refscan.Node {
	return &refscan.Node{Name: name, Type: typ, Figures: refscan.Figures{Objects: n, Bytes: 96 * n}}
}

// of is a history of snapshots after 10 calls each.
func of(snapshots ...*Snapshot) *History {
	h := &History{Env: &environ.Environment{}}
	for i, m := range snapshots {
		m.Calls = int64(10 * i)
		h = h.With(m)
	}
	return h
}

const session = "*example.com/app.Session"

// The figures of a branch are those of its path and type, by measure.
func TestMeasured(t *testing.T) {
	at := func(sessions, entries, room int64) *Snapshot {
		table := variable("sessions", "map[string]"+session, objects("[0]", session, sessions))
		table.Elems = entries
		list := variable("list", "[]int")
		list.Bytes, list.RoomBytes = 64+room, room
		return grown(0, table, list)
	}
	h := of(at(3, 3, 0), at(5, 6, 32))
	table, list := h.Last().Forest[0], h.Last().Forest[1]
	for _, tt := range []struct {
		of   *tree.Branch
		by   Measure
		want []int64
		name string
	}{
		{table.Children[0], InObjects, []int64{3, 5}, "objects"},
		{table.Children[0], InBytes, []int64{288, 480}, "bytes"},
		{table, InEntries, []int64{3, 6}, "entries"},
		{table, InObjects, []int64{1, 1}, "objects"},
		{list, InBytes, []int64{64, 96}, "bytes"},
		{list, InUse, []int64{64, 64}, "bytes in use"},
	} {
		s := h.Measured(tt.of, tt.by)
		assert.Equal(t, []int64{0, 10}, s.Calls)
		assert.Equal(t, tt.want, s.Values, tt.of.Path+": "+tt.name)
		assert.Equal(t, tt.name, tt.by.String())
	}
	assert.False(t, h.First().HasRoom(list.GrowthKey()))
	assert.True(t, h.Last().HasRoom(list.GrowthKey()))
	assert.False(t, h.Last().HasRoom(table.GrowthKey()))
}

// The ends of a doubly linked list have one key, so that its figures are those of both.
func TestFiguresOfAList(t *testing.T) {
	end := func(name, recursion string, n int64) *refscan.Node {
		e := objects(name, "*example.com/app.element", n)
		e.Recursion = recursion
		return e
	}
	h := of(
		grown(0, variable("list", "*example.com/app.list", end("first", "next", 3), end("last", "prev", 2))),
		grown(0, variable("list", "*example.com/app.list", end("first", "next", 4), end("last", "prev", 4))))
	for _, b := range h.Last().Forest[0].Children {
		s := h.Measured(b, InObjects)
		assert.Equal(t, []int64{5, 8}, s.Values, b.Path)
	}
}

// Objects of the program count by type, wherever they are.
func TestOfType(t *testing.T) {
	elsewhere := objects("[0]", session, 9)
	kept := &refscan.Node{
		Name: "runtime.allgs", Type: "[]*runtime.g", Root: &refscan.RootInfo{Kind: refscan.RootGlobal, Package: "runtime"},
		Children: []*refscan.Node{objects("[0]", "*runtime.g", 7)},
	}
	empty := objects("[1]", session, 3)
	empty.Bytes = 0 // entries, which lie in their map
	h := of(grown(0, variable("a", "", objects("[0]", session, 2)), kept), grown(0, variable("b", "", elsewhere), variable("entries", "", empty), kept))
	for typ, want := range map[string][]int64{
		session:      {2, 9},
		"*runtime.g": {0, 0}, // of no program
		"*app.none":  {0, 0},
	} {
		s := h.OfType(typ)
		assert.Equal(t, want, s.Values, typ)
	}
	s := h.OfType(session)
	assert.Equal(t, []int64{2, 9}, s.Values, "once more")
}

// What is kept on purpose does not count with its type, nor what no path leads to.
func TestCountsByType(t *testing.T) {
	h := of()
	for _, tt := range []struct {
		name string
		b    *tree.Branch
		want bool
	}{
		{"the program's", grown(0, variable("a", session)).Forest[0], true},
		{"the library's", grown(0, variable("a", "*bytes.Buffer")).Forest[0], false},
		{"missed", tree.Missed(refscan.Totals{MissedObjects: 3, MissedBytes: 96}), false},
		{"none", &tree.Branch{Typ: session, Root: &refscan.RootInfo{}}, false},
		{"a test's cleanups", func() *tree.Branch {
			root := objects("testing.tRunner.t", "*testing.T", 1)
			root.Root = &refscan.RootInfo{Kind: refscan.RootFrame, Func: "testing.tRunner"}
			root.Children = []*refscan.Node{objects("common.output", session, 3)}
			return grown(0, root).Forest[0].Children[0]
		}(), false},
	} {
		assert.Equal(t, tt.want, h.CountsByType(tt.b), tt.name)
	}
}

// Timers are those of all roots of a name. Frames are those of all goroutines of an origin.
func TestTimersAndFrames(t *testing.T) {
	timers := func(name string, n int64) *refscan.Node {
		return &refscan.Node{Name: name, Root: &refscan.RootInfo{Kind: refscan.RootTimer, Package: "context", Timers: n}}
	}
	const due = "timer(context.WithTimeout)"
	h := of(grown(0, timers(due, 2), timers("timer(app.Tick)", 9)), grown(0, timers(due, 3), timers(due, 4), variable("timers", "")))
	s := h.TimersOf(&tree.Branch{Name: due})
	assert.Equal(t, []int64{2, 7}, s.Values)

	h.First().Goroutines[worker] = goroutine.Pile{Count: 2, Frames: 8}
	s = h.FramesOf(worker)
	assert.Equal(t, []int64{8, 0}, s.Values)
	s = h.GoroutinesOf(worker)
	assert.Equal(t, []int64{2, 0}, s.Values)
}

// Resources that could be read at first, and could not later, are lost.
func TestLost(t *testing.T) {
	denied := errors.New("permission denied")
	with := func(missing ...ledger.Kind) *Snapshot {
		l := new(ledger.Ledger)
		for _, k := range missing {
			l.Missing = append(l.Missing, ledger.Unread{Kind: k, Err: denied})
		}
		return &Snapshot{Ledger: l}
	}
	for _, tt := range []struct {
		name string
		h    *History
		want string
	}{
		{"nothing", of(with(), with()), ""},
		{"no ledger at first", of(new(Snapshot), with(ledger.Descriptor)), ""},
		{"no ledger later", of(with(), new(Snapshot)), ""},
		{"never read", of(with(ledger.Descriptor), with(ledger.Descriptor)), ""},
		{"lost", of(with(ledger.Descriptor), with(ledger.Descriptor, ledger.Thread)), "threads: permission denied"},
		{"lost at last", of(with(), with(), with(ledger.Mapping)), "mappings: permission denied"},
	} {
		assert.Equal(t, tt.want, tt.h.Lost(), tt.name)
	}
	h := of(with(), with())
	h.Last().Doubt = denied
	assert.ErrorIs(t, h.Doubt(), denied)
}

// A snapshot that lacks what another one has is not as good.
func TestIsAsGoodAs(t *testing.T) {
	full := func() *Snapshot {
		return &Snapshot{Goroutines: map[goroutine.Origin]goroutine.Pile{}, Ledger: new(ledger.Ledger), Native: new(nativeheap.Heap)}
	}
	assert.True(t, full().IsAsGoodAs(full()))
	assert.True(t, full().IsAsGoodAs(new(Snapshot)))
	assert.True(t, new(Snapshot).IsAsGoodAs(new(Snapshot)))
	for what, change := range map[string]func(m *Snapshot){
		"no goroutines": func(m *Snapshot) { m.Goroutines = nil },
		"no ledger":     func(m *Snapshot) { m.Ledger = nil },
		"no C code":     func(m *Snapshot) { m.Native = nil },
		"doubt":         func(m *Snapshot) { m.Doubt = errors.New("doubt") },
	} {
		m := full()
		change(m)
		assert.False(t, m.IsAsGoodAs(full()), what)
	}
}

// A fall is the deepest of the program's objects, map entries and goroutines. Resources are asked
// only if none of those fell.
func TestFalls(t *testing.T) {
	held := func(kind ledger.Kind, name string, size int64) ledger.Item {
		return ledger.Item{Kind: kind, Names: [ledger.Levels]string{name, name, name}, Size: size}
	}
	at := func(sessions, entries int64, items ...ledger.Item) *Snapshot {
		table := variable("sessions", "map[string]"+session, objects("[0]", session, sessions))
		table.Elems = entries
		m := grown(0, table)
		m.Ledger = &ledger.Ledger{Items: items}
		return m
	}
	socket, none := func(n int64) ledger.Item { return held(ledger.Descriptor, "socket", n) }, ledger.Item{}
	for _, tt := range []struct {
		name        string
		before, now *Snapshot
		want        string // "": no fall
	}{
		{"nothing fell", at(3, 3, none), at(5, 5, none), ""},
		{"objects", at(9, 3, none), at(5, 3, none), "via example.com/app.sessions[*]: objects: 9 → 5"},
		{"more entries than objects", at(9, 9, none), at(5, 1, none), "via example.com/app.sessions: entries: 9 → 1"},
		{"objects, though more sockets", at(9, 3, socket(50)), at(5, 3, socket(1)), "via example.com/app.sessions[*]: objects: 9 → 5"},
		{"sockets", at(3, 3, socket(50)), at(3, 3, socket(1)), "socket: descriptors: 50 → 1"},
		{"a process that is no more", at(3, 3, held(ledger.Process, "child", 1)), at(3, 3, none), "child: child processes: 1 → 0"},
		{"threads come and go", at(3, 3, held(ledger.Thread, "thread", 9)), at(3, 3, none), ""},
		{"few bytes of C code", at(3, 3, held(ledger.NativeBytes, "block", 159)), at(3, 3, none), ""},
		{"many bytes of C code", at(3, 3, held(ledger.NativeBytes, "block", 160)), at(3, 3, none), "block: bytes of native blocks: 160 → 0"},
	} {
		f := of(tt.before, tt.now).LastFall()
		note := ""
		if f != nil {
			assert.Equal(t, 1, f.To, tt.name)
			note = f.Note()
		}
		if tt.want == "" {
			assert.Equal(t, "", note, tt.name)
			continue
		}
		assert.Equal(t, "fell while op was called, which may hide as much growth: "+tt.want, note, tt.name)
	}
}
