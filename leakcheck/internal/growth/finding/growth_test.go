package finding_test

import (
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/reporttest"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// What makes reports by hand.
var (
	node      = reporttest.Node
	withElems = reporttest.WithElems
	global    = reporttest.Global
	frame     = reporttest.Frame
	report    = reporttest.Report
	sessions  = reporttest.Sessions
)

// usual are the figures of a leak of one a call, and the calls before each snapshot.
var usual = []int64{10, 20, 40, 80, 160}

// snapshot is one of handmade variables.
func snapshot(roots ...*refscan.Node) *finding.Snapshot {
	f := tree.GrowForest(report(roots...))
	return &finding.Snapshot{Forest: f, Eval: &check.Evaluation{Seen: &check.Seen{Everything: f}}, Goroutines: map[goroutine.Origin]goroutine.Pile{}}
}

// over makes a finder whose snapshots have these figures, after the usual calls.
func over(figures []int64, snapshot func(n int64) *finding.Snapshot, ignores ...string) *finding.Finder {
	h, req := &finding.History{Env: &environ.Environment{ModulePath: "example.com/app", PackagePath: "example.com/app"}}, new(request.Request)
	for _, text := range ignores {
		p, err := naming.CompilePathPattern(text)
		if err != nil {
			panic(err)
		}
		req.Ignores = append(req.Ignores, tree.Ignoring{Pattern: p, Reason: "why"})
	}
	for i, n := range figures {
		m := snapshot(n)
		m.Calls = usual[i]
		if len(req.Ignores) > 0 {
			m.Forest, _ = tree.ApplyIgnores(m.Forest, req.Ignores)
		}
		h = h.With(m)
	}
	return &finding.Finder{History: h, Req: req}
}

// heap is over for variables alone.
func heap(figures []int64, root func(n int64) *refscan.Node) *finding.Finder {
	return over(figures, func(n int64) *finding.Snapshot { return snapshot(root(n)) })
}

// describe says in short what leaks are about: "app.sessions[*] objects".
func describe(leaks ...*finding.Leak) string {
	var all []string
	for _, l := range leaks {
		var s string
		switch {
		case l.IsResource():
			s = "resource"
		case l.Deepens:
			s = "stack " + l.Origin.Entry
		case l.Goroutines != nil:
			s = "goroutines " + l.Origin.Entry
		default:
			s = l.Heads[0].Path + " " + l.Measure.String()
		}
		for _, r := range l.Resources {
			s += ", " + r.Kind.String() + " " + r.Name
		}
		if len(l.With) > 0 {
			s += " (" + describe(l.With...) + ")"
		}
		all = append(all, strings.ReplaceAll(s, "example.com/", ""))
	}
	return strings.Join(all, "; ")
}

// What grows on the heap has the path of the topmost objects that grow, or of what they are in.
func TestGrowthOnTheHeap(t *testing.T) {
	variable := func(name, typ string, objects, bytes int64, children ...*refscan.Node) *refscan.Node {
		return global(node("example.com/app."+name, typ, objects, bytes, children...), "", 0)
	}
	room := func(typ string, used, all int64) *refscan.Node {
		n := variable("v", typ, 1, all)
		n.RoomBytes = all - used
		return n
	}
	test := func(children ...*refscan.Node) *refscan.Node {
		return frame(node("testing.tRunner.t", "*testing.T", 1, 500, children...), refscan.RootInfo{Func: "testing.tRunner", Test: true, Caller: true})
	}
	for _, tt := range []struct {
		name    string
		figures []int64
		root    func(n int64) *refscan.Node
		want    string
		kept    string
	}{
		{"objects", usual, sessions, "app.sessions[*] objects", ""},
		{"a cache that fills up", []int64{10, 20, 25, 25, 25}, sessions, "", ""},
		{"after the first batch", usual[:2], sessions, "app.sessions[*] objects", ""},
		{"entries", usual, func(n int64) *refscan.Node {
			return withElems(variable("seen", "map[int]bool", 1, 4096+16*n), n)
		}, "app.seen entries", ""},
		{"a table that grows, of as many entries", usual, func(n int64) *refscan.Node {
			return withElems(variable("seen", "map[int]bool", 1, 16*n), 5)
		}, "", ""},
		{"bytes", usual, func(n int64) *refscan.Node { return variable("journal", "[]int", 1, 8*n) }, "app.journal bytes", ""},
		{"bytes of what holds growing objects", usual, func(n int64) *refscan.Node {
			return variable("list", "[]*example.com/app.T", 1, 8*n, node("[10+]", "*example.com/app.T", n, 64*n))
		}, "app.list[*] objects", ""},
		{"elements in an array with room", usual, func(n int64) *refscan.Node { return room("[]int", 8*n, 1<<20) }, "", ""},
		{"a queue that nobody receives from", usual, func(n int64) *refscan.Node { return room("chan int", 8*n, 1<<20) }, "app.v bytes in use", ""},
		{"a queue that is nearly full", usual, func(n int64) *refscan.Node { return room("chan int", 8*n, 2048) }, "", ""},
		{"a string", usual, func(n int64) *refscan.Node { return room("string", 8*n, 1<<20) }, "app.v bytes in use", ""},
		{"at two roots", usual, func(n int64) *refscan.Node {
			return variable("srv", "*example.com/app.Server", 1, 8, node("a", "*example.com/app.T", n, 8*n), node("b", "*example.com/app.U", n, 80*n))
		}, "app.srv.b objects", ""},
		{"records of goroutines", usual, func(n int64) *refscan.Node {
			return variable("v", "[]*runtime.g", 1, 8, node("[10+]", "*runtime.g", n, 400*n))
		}, "", ""},
		{"what a Transport keeps", usual, func(n int64) *refscan.Node {
			return global(node("net/http.DefaultTransport", "*net/http.Transport", 1, 300, node("idleConn", "*net/http.persistConn", n, 50*n)), "", 0)
		}, "", "150 objects, 7.3 KiB at net/http.DefaultTransport.idleConn"},
		{"what the default logger has", usual, func(n int64) *refscan.Node {
			return global(node("log.std", "*log.Logger", 1, 100, node("out", "*io.multiWriter", n, 50*n)), "", 0)
		}, "log.std.out objects", ""},
		{"what a test logs", usual, func(n int64) *refscan.Node { return test(node("common.output", "[]uint8", 1, 10*n)) }, "", "at testing.tRunner.t.common.output"},
		{"what the cleanups refer to", usual, func(n int64) *refscan.Node {
			return test(node("common.cleanups[*]", "func testing.(*common).Cleanup.func1", 1, 50, node("f", "func example.com/app.(*Server).Close-fm", 1, 16, node("all", "*example.com/app.T", n, 16*n))))
		}, "testing.tRunner.t.common.cleanups[*].f.all objects", ""},
		{"timers", usual, func(n int64) *refscan.Node {
			root := node("timer(context.WithTimeout)", "", 0, 0, node("$timer", "*time.Timer", n, 112*n))
			root.Root = &refscan.RootInfo{Kind: refscan.RootTimer, Package: "context", Timers: n, DueLast: time.Hour}
			return root
		}, "timer(context.WithTimeout).$timer objects", ""},
	} {
		f := heap(tt.figures, tt.root)
		g := f.Growth()
		assert.Equal(t, tt.want, describe(g.Leaks...), tt.name)
		assert.Equal(t, tt.want == "", g.None(), tt.name)
		assert.Contains(t, strings.Join(g.Kept, "\n"), tt.kept, tt.name)
		assert.False(t, g.HasMissed(), tt.name)
		for _, l := range g.Leaks {
			s := f.SeriesOf(l)
			assert.Equal(t, l.Own, s, tt.name)
			assert.Equal(t, l.Own.PerCall(), l.PerCall(), tt.name)
		}
	}
}

// The total of a leak has all below its heads, and the tables above. What is in use of a queue was
// there before.
func TestTotals(t *testing.T) {
	l := heap(usual, sessions).Growth().Leaks[0]
	assert.Equal(t, tree.Tally{Objects: 150 + 150 + 75, Bytes: 150*(96+320) + 75*16}, l.Total)
	assert.Equal(t, "example.com/app.sessions", l.Container().Path)
	queue := func(n int64) *refscan.Node {
		q := global(node("example.com/app.q", "chan int", 1, 1<<20), "", 0)
		q.RoomBytes = q.Bytes - 8*n
		return q
	}
	l = heap(usual, queue).Growth().Leaks[0]
	assert.True(t, l.IsQueue())
	assert.Equal(t, int64(8*150), l.Total.Bytes)
	assert.Equal(t, "example.com/app.q", l.Container().Path)

	srv := func(n int64) *refscan.Node {
		return global(node("example.com/app.srv", "*example.com/app.Server", 1, 8*n, node("a", "*example.com/app.T", n, 8*n), node("b", "*example.com/app.U", n, 80*n)), "", 0)
	}
	f := heap(usual, srv)
	l = f.Growth().Leaks[0]
	assert.Len(t, l.Heads, 2)
	assert.Equal(t, int64(150*96), l.Total.Bytes, "the variable counts once")
	assert.Nil(t, l.Container(), "a field is no element")
	name, by := l.Registry()
	assert.Equal(t, "", name)
	assert.Nil(t, by)
	assert.False(t, l.IsMapper())
	used := f.InUseOf(l)
	assert.Equal(t, l.Own, used)

	journal := heap(usual, func(n int64) *refscan.Node {
		j := global(node("example.com/app.journal", "[]int", 1, 8*n), "", 0)
		j.RoomBytes = n
		return j
	})
	used = journal.InUseOf(journal.Growth().Leaks[0])
	assert.Equal(t, []int64{70, 140, 280, 560, 1120}, used.Values)
}

// Objects that no path leads to are growth if they are many.
func TestGrowthOfMissed(t *testing.T) {
	missed := func(n int64) *finding.Snapshot {
		m := snapshot()
		m.Forest = tree.Forest{tree.Missed(refscan.Totals{MissedObjects: n, MissedBytes: 16 * n})}
		return m
	}
	g := over(usual, missed).Growth()
	assert.True(t, g.HasMissed())
	assert.True(t, over([]int64{1, 2, 4, 8, 16}, missed).Growth().None())
}

// Objects of the program that change places grow in all of them together.
func TestGrowthOfWhatMoves(t *testing.T) {
	turn := false
	wandering := func(n int64) *refscan.Node {
		turn = !turn
		name := "here"
		if turn {
			name = "there"
		}
		return global(node("example.com/app.places", "struct {}", 1, 8, node(name, "*example.com/app.T", n, 8*n)), "", 0)
	}
	f := heap(usual, wandering)
	leaks := f.Growth().Leaks
	assert.Len(t, leaks, 1)
	assert.True(t, leaks[0].Moves)
	assert.Equal(t, "example.com/app.places.there", leaks[0].Heads[0].Path)
	s := f.SeriesOf(leaks[0])
	assert.Equal(t, usual, s.Values)
	assert.True(t, heap([]int64{15, 15, 15, 15, 15}, wandering).Growth().None())
}

// stuck makes goroutines with this state and stack, innermost function first.
func stuck(count int64, state string, functions ...string) goroutine.Pile {
	g := goroutine.Pile{Count: count, Frames: count * int64(len(functions)), State: state}
	for _, f := range functions {
		g.Calls = append(g.Calls, goroutine.Call{Function: f, At: "/src/app/app.go:7"})
	}
	return g
}

// Goroutines pile up by origin, or their stacks get deeper. What they hold is part of the leak.
func TestPiles(t *testing.T) {
	work := goroutine.Origin{Entry: "example.com/app.work", CreatedBy: "example.com/app.New", CreatedAt: "/src/app/new.go:3"}
	read := goroutine.Origin{Entry: "net.read", CreatedBy: "example.com/app.Dial", CreatedAt: "/src/app/dial.go:3"}
	at := func(counts map[goroutine.Origin]goroutine.Pile, roots ...*refscan.Node) *finding.Snapshot {
		m := snapshot(roots...)
		m.Goroutines = counts
		return m
	}
	held := func(n int64, function, created string) *refscan.Node {
		return frame(node(function+".p", "*example.com/app.pool", n, 64*n), refscan.RootInfo{Func: function, CreatedAt: created})
	}
	f := over(usual, func(n int64) *finding.Snapshot {
		return at(map[goroutine.Origin]goroutine.Pile{
			work: stuck(n, "select", "example.com/app.work"), read: stuck(5, "IO wait", "net.read"),
		}, held(n, "example.com/app.work", work.CreatedAt), held(5, "net.read", read.CreatedAt))
	})
	l := f.Growth().Leaks
	assert.Equal(t, "goroutines app.work", describe(l...))
	assert.Equal(t, tree.Tally{Objects: 150, Bytes: 64 * 150}, l[0].Total)
	assert.Equal(t, 1.0, l[0].PerCall())
	assert.False(t, l[0].StartedByProgram)
	assert.Nil(t, l[0].Container())
	s := f.SeriesOf(l[0])
	assert.Equal(t, usual, s.Values)

	f = over(usual, func(n int64) *finding.Snapshot {
		return at(map[goroutine.Origin]goroutine.Pile{read: stuck(n, "IO wait", "net.read"), work: {Count: 1, Frames: 100 * n, State: "select", Calls: []goroutine.Call{{Function: "example.com/app.work"}}}})
	})
	l = f.Growth().Leaks
	assert.Equal(t, "stack app.work; goroutines net.read", describe(l...), "64 bytes a frame, 2 KiB a goroutine")
	assert.True(t, l[1].StartedByProgram)
	s = f.SeriesOf(l[0])
	assert.Equal(t, int64(16000), s.Values[4])

	// Two piles of one go statement: the variable belongs to the one with its function.
	other := work
	other.Entry = "example.com/app.other"
	f = over(usual, func(n int64) *finding.Snapshot {
		return at(map[goroutine.Origin]goroutine.Pile{work: stuck(n, "select", "example.com/app.work"), other: stuck(2*n, "select", "example.com/app.other")},
			held(n, "example.com/app.work", work.CreatedAt), held(n, "example.com/app.none", work.CreatedAt))
	})
	for _, l := range f.Growth().Leaks {
		assert.Len(t, l.Heads, 1)
		want := map[string]string{work.Entry: "example.com/app.work.p", other.Entry: "example.com/app.none.p"}[l.Origin.Entry]
		assert.Equal(t, want, l.Heads[0].Path)
	}
}

// A leak of the program comes before one of its tests, and before those of libraries.
func TestRank(t *testing.T) {
	grows := func(name, typ string, bytes int64) *refscan.Node {
		return global(node(name, typ, bytes/8, bytes), "", 0)
	}
	op := func(n int64) *refscan.Node {
		root := node("finalizer(*struct { AssertNoGrowth func() })", "", 1, 8, node("AssertNoGrowth", "func()", 1, 8, node("list", "*example.com/app.T", n, 8*n)))
		root.Root = &refscan.RootInfo{Kind: refscan.RootFinalizer}
		return root
	}
	f := over(usual, func(n int64) *finding.Snapshot {
		m := snapshot(
			grows("reflect.cache", "*reflect.rtype", 800*n),
			grows("expvar.vars", "*expvar.Int", 400*n),
			frame(node("example.com/app.TestX.v", "*example.com/app.T", n, 200*n), refscan.RootInfo{Func: "example.com/app.TestX", Test: true}),
			grows("example.com/app.small", "*example.com/app.T", 8*n), grows("example.com/app.large", "*example.com/app.T", 16*n), op(n))
		m.Forest = tree.NameHeldOps(m.Forest)
		handler := stuck(n, "select", "example.com/app.serve")
		handler.Calls[0].At = "/src/app/app_test.go:7"
		m.Goroutines[goroutine.Origin{Entry: "example.com/app.serve", CreatedBy: "net/http.Serve", CreatedAt: "server.go:1"}] = handler
		return m
	})
	assert.Equal(t, "app.large objects; app.small objects; app.TestX.v objects; op.list objects; goroutines app.serve; expvar.vars objects; reflect.cache objects", describe(f.Growth().Leaks...))
}

// A Longer has room for some more calls.
func TestLonger(t *testing.T) {
	journal := func(room int64) func(n int64) *refscan.Node {
		return func(n int64) *refscan.Node {
			j := global(node("example.com/app.journal", "[]int", 1, room), "", 0)
			j.RoomBytes = room - 8*n
			return j
		}
	}
	assert.Empty(t, heap(usual[:1], journal(4096)).Longer())
	found := heap(usual, journal(4096)).Longer()
	assert.Len(t, found, 1)
	l := found[0]
	assert.Equal(t, "example.com/app.journal", l.Path)
	assert.Equal(t, int64(1280), l.InUse())
	assert.Equal(t, int64(4096), l.Bytes)
	assert.True(t, l.Exact && !l.Queue)
	assert.Equal(t, 353, l.Fill())
	assert.Equal(t, 513, l.FillAll())
	assert.True(t, l.HasRoomFor(70))
	assert.False(t, l.HasRoomFor(71))
	l.Exact = false
	assert.Equal(t, 441, l.Fill(), "they may add less")

	assert.Empty(t, heap([]int64{10, 20, 20, 20, 20}, journal(4096)).Longer())
	channel := func(name string, room int64) func(n int64) *refscan.Node {
		return func(n int64) *refscan.Node {
			q := global(node(name, "chan int", 1, room), "", 0)
			q.RoomBytes = room - 8*n
			return q
		}
	}
	assert.Empty(t, heap(usual, channel("example.com/app.q", 1<<20)).Longer(), "a leak")
	assert.Empty(t, heap(usual, channel("$chan", 4096)).Longer(), "a timer's")
	queues := heap(usual, channel("example.com/app.q", 4096)).Longer()
	assert.Len(t, queues, 1)
	assert.True(t, queues[0].Queue)
	assert.Empty(t, heap(usual, func(n int64) *refscan.Node {
		j := journal(4096)(n)
		j.Children = []*refscan.Node{node("[0]", "*example.com/app.T", n, 8*n)}
		return j
	}).Longer(), "its objects grow")
}

// Leaks of one family that grow in step are one, led by the program's, or by the one whose cause is
// known.
func TestFold(t *testing.T) {
	conn := func(entry string) goroutine.Origin {
		return goroutine.Origin{Entry: entry, CreatedBy: "net/http.(*Transport).dialConn", CreatedAt: "/go/" + entry}
	}
	piles := map[goroutine.Origin]goroutine.Pile{
		conn("net/http.(*conn).serve"):            stuck(1, "IO wait", "net.(*conn).Read", "net/http.(*conn).serve"),
		conn("net/http.(*persistConn).readLoop"):  stuck(1, "IO wait", "net.(*conn).Read", "net/http.(*persistConn).readLoop"),
		conn("net/http.(*persistConn).writeLoop"): stuck(1, "select", "net/http.(*persistConn).writeLoop"),
		conn("database/sql.(*Tx).awaitDone"):      stuck(1, "chan receive", "database/sql.(*Tx).awaitDone"),
		conn("database/sql.(*Rows).awaitDone"):    stuck(7, "select", "database/sql.(*Rows).awaitDone"),
	}
	f := over(usual, func(n int64) *finding.Snapshot {
		m := snapshot(sessions(n))
		for o, g := range piles {
			g.Count, g.Frames = g.Count*n, g.Frames*n
			m.Goroutines[o] = g
		}
		return m
	})
	assert.Equal(t, "goroutines database/sql.(*Rows).awaitDone; goroutines net/http.(*persistConn).readLoop (goroutines net/http.(*conn).serve; goroutines net/http.(*persistConn).writeLoop); "+
		"goroutines database/sql.(*Tx).awaitDone; app.sessions[*] objects", describe(f.Growth().Leaks...))

	timers := func(name string, n int64) *refscan.Node {
		root := node("timer("+name+")", "", 0, 0, node("$timer", "*time.Timer", n, 112*n))
		root.Root = &refscan.RootInfo{Kind: refscan.RootTimer, Package: "time", Timers: n, DueLast: time.Hour}
		return root
	}
	f = over(usual, func(n int64) *finding.Snapshot {
		m := snapshot(timers("time.Ticker", n))
		m.Goroutines[goroutine.Origin{Entry: "example.com/app.poll", CreatedAt: "/src/app/poll.go:3"}] = stuck(n, "chan receive", "example.com/app.poll")
		return m
	})
	assert.Equal(t, "goroutines app.poll (timer(time.Ticker).$timer objects)", describe(f.Growth().Leaks...))

	handles := func(n int64) *refscan.Node {
		root := node("cleanup(*unique.T)", "func unique.(*canonMap).func1", n, 32*n)
		root.Root = &refscan.RootInfo{Kind: refscan.RootCleanup, Package: "unique"}
		return root
	}
	f = over(usual, func(n int64) *finding.Snapshot { return snapshot(sessions(n), handles(n)) })
	assert.Equal(t, "app.sessions[*] objects (cleanup(*unique.T) objects)", describe(f.Growth().Leaks...))

	f = over(usual, func(n int64) *finding.Snapshot {
		return snapshot(
			global(node("runtime.reflectOffs", "struct {}", 0, 0, node("m", "map[int32]unsafe.Pointer", 2*n, 400*n)), "", 0),
			global(node("reflect.ptrMap", "sync.Map", 1, 64, node("[*]", "*reflect.ptrType", n, 160*n)), "", 0))
	})
	assert.Equal(t, "reflect.ptrMap[*] objects (runtime.reflectOffs.m objects)", describe(f.Growth().Leaks...))
	assert.Equal(t, []string{"reflect."}, func() []string { _, by := f.Growth().Leaks[0].Registry(); return by }())

	deferred := func(n int64) []*refscan.Node {
		info := refscan.RootInfo{Func: "example.com/app.loop", CreatedAt: "/src/app/loop.go:3"}
		record := node("goroutine example.com/app.loop", "*runtime._defer", n, 48*n)
		record.Root = &refscan.RootInfo{Kind: refscan.RootOther, CreatedAt: info.CreatedAt}
		return []*refscan.Node{frame(node("example.com/app.loop.$defer", "func example.com/app.loop.deferwrap1", n, 16*n), info), record}
	}
	f = over(usual, func(n int64) *finding.Snapshot { return snapshot(deferred(n)...) })
	assert.Equal(t, "app.loop.$defer objects (goroutine app.loop objects)", describe(f.Growth().Leaks...))
}
