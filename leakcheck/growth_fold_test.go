package leakcheck

import (
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/refscan"
)

// stuck returns goroutines with this state and stack, innermost function first.
func stuck(state string, functions ...string) goroutine.Pile {
	g := goroutine.Pile{State: state}
	for _, f := range functions {
		g.Calls = append(g.Calls, goroutine.Call{Function: f, At: "/go/src/file.go:7"})
	}
	return g
}

// Both sides of a connection, and the library's records of them, are one leak; growth of the
// program's is another.
func TestGrowthFolds(t *testing.T) {
	read := []string{"internal/poll.(*FD).Read", "net.(*netFD).Read", "net.(*conn).Read"}
	piles := map[goroutine.Origin]goroutine.Pile{
		{Entry: "net/http.(*conn).serve", CreatedBy: "net/http.(*Server).Serve", CreatedAt: "/go/src/net/http/server.go:3464"}:                stuck("IO wait", append(read, "net/http.(*conn).serve")...),
		{Entry: "net/http.(*persistConn).readLoop", CreatedBy: "net/http.(*Transport).dialConn", CreatedAt: "/go/src/net/http/t.go:1994"}:     stuck("IO wait", append(read, "net/http.(*persistConn).readLoop")...),
		{Entry: "net/http.(*persistConn).writeLoop", CreatedBy: "net/http.(*Transport).dialConn", CreatedAt: "/go/src/net/http/t.go:1995"}:    stuck("select", "net/http.(*persistConn).writeLoop"),
		{Entry: "example.com/app.poll", CreatedBy: "example.com/app.New", CreatedAt: "/src/app/poll.go:9"}:                                    stuck("sleep", "time.Sleep", "example.com/app.poll"),
		{Entry: "database/sql.(*Tx).awaitDone", CreatedBy: "database/sql.(*DB).beginDC", CreatedAt: "/go/src/database/sql/sql.go:1"}:          stuck("chan receive", "database/sql.(*Tx).awaitDone"),
		{Entry: "database/sql.(*Rows).awaitDone", CreatedBy: "database/sql.(*Rows).initContextClose", CreatedAt: "/go/src/database/sql.go:2"}: stuck("select", "database/sql.(*Rows).awaitDone"),
	}
	rate := func(o goroutine.Origin) int64 {
		if strings.Contains(o.Entry, "Rows") {
			return 7 // not at the rate of the transactions: a leak of its own
		}
		return 1
	}
	var reports []*refscan.Report
	var counts []map[goroutine.Origin]goroutine.Pile
	for _, n := range []int64{10, 20, 40, 80, 160} {
		serve := refscan.RootInfo{Func: "net/http.(*Server).Serve", CreatedBy: "example.com/app.New", CreatedAt: "/src/app/srv.go:3"}
		reports = append(reports, report(sessions(n),
			frame(node("net/http.(*Server).Serve.s", "*net/http.Server", 1, 500, withElems(node("conns", "map[net.Conn]net/http.ConnState", 1, 64*n), n)), serve)))
		at := make(map[goroutine.Origin]goroutine.Pile)
		for o, g := range piles {
			g.Count = n * rate(o)
			at[o] = g
		}
		counts = append(counts, at)
	}
	ft, ok, _ := newWorld(t, reports...).growth(counts, tenAndTen...)
	text := ft.errorText()
	if ok {
		t.Fatal("passed")
	}
	wantInOrder(t, text,
		"leakcheck: memory grows with every call of op (5 leaks)\n",
		"\n+7.00 goroutines/op in database/sql.(*Rows).awaitDone\n    the usual cause: sql.Rows are not closed\n",
		"\n+1.00 goroutine/op in net/http.(*persistConn).readLoop\n",
		"\n+1.00 goroutine/op in database/sql.(*Tx).awaitDone\n+1.00 goroutine/op in example.com/app.poll\n"+
			"+1.00 *app.Session/op (+424 B/op) via example.com/app.sessions[*]\n",
	)

	// By themselves, the connections show what comes with them.
	for _, at := range counts {
		for o := range at {
			if !strings.HasPrefix(o.Entry, "net/http.") {
				delete(at, o)
			}
		}
	}
	ft, _, _ = newWorld(t, reports...).growth(counts, append(tenAndTen[:2:2], Ignore("app.sessions", "another leak"))...)
	wantInOrder(t, ft.errorText(),
		"leakcheck: memory grows with every call of op\n",
		"\n+1.00 goroutine/op in net/http.(*persistConn).readLoop\n    the usual cause: an http.Transport is made for each call, or CloseIdleConnections is not called when its use is over\n"+
			"    goroutines: 10 → 20 → 40 → 80 → 160 after 10, 20, 40, 80 and 160 calls\n    in state: IO wait, at net.(*netFD).Read (file.go:7)\n",
		"\n    with it, as a rule for the same cause:\n       +1.00 goroutine/op in net/http.(*conn).serve\n       +1.00 goroutine/op in net/http.(*persistConn).writeLoop\n"+
			"       +1.00 entries/op (+64 B/op) in map[net.Conn]http.ConnState via net/http.(*Server).Serve.s.conns\n",
	)
}

// A handler that does not return leads the connections that it keeps.
func TestGrowthOfHandlers(t *testing.T) {
	handler := goroutine.Origin{Entry: "example.com/app.(*hub).ServeHTTP", Started: "net/http.(*conn).serve", CreatedBy: "net/http.(*Server).Serve", CreatedAt: "/go/src/net/http/server.go:3464"}
	reader := goroutine.Origin{Entry: "net/http.(*connReader).backgroundRead", Started: "", CreatedBy: "net/http.(*connReader).startBackgroundRead", CreatedAt: "/go/src/net/http/server.go:698"}
	var counts []map[goroutine.Origin]goroutine.Pile
	for _, n := range []int64{10, 20, 40, 80, 160} {
		h := stuck("chan receive", "example.com/app.(*hub).wait", "example.com/app.(*hub).ServeHTTP", "net/http.serverHandler.ServeHTTP", "net/http.(*conn).serve")
		r := stuck("IO wait", "net.(*netFD).Read", "net/http.(*connReader).backgroundRead")
		h.Count, r.Count = n, n
		counts = append(counts, map[goroutine.Origin]goroutine.Pile{handler: h, reader: r})
	}
	ft, _, _ := newWorld(t, growing(sessions, 7)...).growth(counts, tenAndTen...)
	wantInOrder(t, ft.errorText(),
		"leakcheck: memory grows with every call of op\n\n+1.00 goroutine/op in example.com/app.(*hub).ServeHTTP\n    the usual cause: a handler does not return\n",
		"    in state: chan receive, at example.com/app.(*hub).wait (file.go:7)\n    created by net/http.(*Server).Serve (",
		"       +1.00 goroutine/op in net/http.(*connReader).backgroundRead\n",
	)
}

// A variable of a fixed number of goroutines is not the growing one, though it has the same name.
func TestGrowthOfNamesakes(t *testing.T) {
	of := func(at string, n int64) *refscan.Node {
		return frame(node("example.com/app.serve.c", "*example.com/app.conn", n, 96*n), refscan.RootInfo{
			Func: "example.com/app.serve", Goroutine: "example.com/app.serve", CreatedBy: "example.com/app.New", CreatedAt: at, Goroutines: n,
		})
	}
	var reports []*refscan.Report
	for _, n := range []int64{10, 20, 40, 80, 160} {
		reports = append(reports, report(of("/src/app/old.go:3", 100), of("/src/app/new.go:4", n)))
	}
	ft, ok, _ := newWorld(t, reports...).growth(nil, tenAndTen...)
	if text := ft.errorText(); ok || strings.Contains(text, "leaks)") || strings.Contains(text, "old.go") ||
		!strings.Contains(text, "objects: 10 → 20 → 40 → 80 → 160 after") || !strings.Contains(text, "new.go:4") {
		t.Error(text)
	}
}

// Growth on a variable itself hangs on others of its type.
func TestGrowthOfRecursion(t *testing.T) {
	list := func(n int64) *refscan.Node {
		head := node("example.com/app.head", "*example.com/app.node", n, 16*n, node("text", "string", n, 64*n))
		head.Recursion = "next"
		return global(head, "/src/app/list.go", 5)
	}
	ft, _, _ := newWorld(t, growing(list, 10, 20, 40, 80, 160)...).growth(nil, tenAndTen...)
	wantInOrder(t, ft.errorText(),
		"\n+1.00 *app.node/op (+80 B/op) via example.com/app.head.next\n",
		"           150     2.3 KiB  example.com/app.head  *app.node\n"+
			"                            └─ next  *app.node, counted above  ~\n"+
			"    one of the references marked ~ should have been dropped\n",
		"besides:\n           150     9.4 KiB  example.com/app.head.text  string\n",
	)
}

// The elements of a doubly linked list count together, whichever end they are nearer to. Those of
// two lists do not.
func TestGrowthOfListsWithTwoEnds(t *testing.T) {
	for _, tt := range []struct{ from, to, title string }{
		{"next", "prev", "\n+2.00 *app.entry/op (+32 B/op) via example.com/app.cache.head\n"},
		{"next", "next", "\n+1.00 *app.entry/op (+32 B/op) via example.com/app.cache.head\n"},
	} {
		end := func(name, link string, n int64) *refscan.Node {
			first := node(name, "*example.com/app.entry", n, 16*n)
			first.Recursion = link
			return first
		}
		cache := func(n int64) *refscan.Node {
			return global(node("example.com/app.cache", "example.com/app.lru", 0, 0, end("head", tt.from, n), end("tail", tt.to, n)), "/src/app/lru.go", 7)
		}
		ft, _, _ := newWorld(t, growing(cache, 10, 20, 40, 80, 160)...).growth(nil, tenAndTen...)
		wantInOrder(t, ft.errorText(), tt.title)
	}
}

// Objects inside of a map are entries, not objects.
func TestGrowthOfEntries(t *testing.T) {
	seen := func(n int64) *refscan.Node {
		return global(withElems(node("example.com/app.seen", "map[int]float64", 1, 16*n, node("$mapval", "float64", n, 0)), n), "/src/app/seen.go", 5)
	}
	ft, _, _ := newWorld(t, growing(seen, 10, 20, 40, 80, 160)...).growth(nil, tenAndTen...)
	wantInOrder(t, ft.errorText(),
		"\n+1.00 entries/op (+16 B/op) in map[int]float64 via example.com/app.seen\n    entries: 10 → 20 → 40 → 80 → 160 after ",
		"             0     2.3 KiB  example.com/app.seen  map[int]float64, 150 entries\n"+
			"           150           -  └─ [*]  float64, inside of the map\n",
	)
	if strings.Contains(ft.errorText(), message.SuspectMark) {
		t.Error("a reference is suspect:", ft.errorText())
	}
}

// Timers come with the goroutines that wait for them. The runtime's record of timers comes with the
// leak that the timers belong to.
func TestGrowthOfTimers(t *testing.T) {
	waiting := goroutine.Origin{Entry: "example.com/app.wait", Started: "", CreatedBy: "example.com/app.New", CreatedAt: "/src/app/wait.go:3"}
	var reports []*refscan.Report
	var counts []map[goroutine.Origin]goroutine.Pile
	for _, n := range []int64{10, 20, 40, 80, 160} {
		timers := node("timer(time.Timer)", "", 0, 0, node("$chan", "chan time.Time", n, 136*n))
		timers.Root = &refscan.RootInfo{Kind: refscan.RootTimer, Package: "time", Timers: n}
		heap := node("runtime.(timers)", "", 0, 0, node("heap", "[]runtime.timerWhen", 1, 1024+32*n))
		heap.Root = &refscan.RootInfo{Kind: refscan.RootOther, Package: "runtime"}
		reports = append(reports, report(timers, heap))
		g := stuck("select", "example.com/app.wait")
		g.Count = n
		counts = append(counts, map[goroutine.Origin]goroutine.Pile{waiting: g})
	}
	ft, _, _ := newWorld(t, reports...).growth(counts, tenAndTen...)
	wantInOrder(t, ft.errorText(),
		"leakcheck: memory grows with every call of op\n\n+1.00 goroutine/op in example.com/app.wait\n    goroutines: 10 →",
		"    with it, as a rule for the same cause:\n       +1.00 chan time.Time/op (+136 B/op) via timer(time.Timer).$chan\n",
	)
}

// A goroutine that sleeps for long may end by itself, which no experiment can wait for.
func TestGrowthOfSleepers(t *testing.T) {
	origin := goroutine.Origin{Entry: "example.com/app.clean", CreatedBy: "example.com/app.New", CreatedAt: "/src/app/clean.go:3"}
	var reports []*refscan.Report
	var counts []map[goroutine.Origin]goroutine.Pile
	for _, n := range []int64{10, 20, 40, 80, 160} {
		reports = append(reports, report())
		g := stuck("sleep", "time.Sleep", "example.com/app.clean")
		g.Count, g.Sleep = n, 20*time.Second
		counts = append(counts, map[goroutine.Origin]goroutine.Pile{origin: g})
	}
	ft, _, _ := newWorld(t, reports...).growth(counts, tenAndTen...)
	wantInOrder(t, ft.errorText(),
		"+1.00 goroutine/op in example.com/app.clean\n",
		"    in state: sleep, in time.Sleep (for up to 20s), called by example.com/app.clean (",
	)
}

// A goroutine that receives from a ticker's channel waits for ever, whether or not the ticker is
// stopped.
func TestGrowthOfReceiversOfTime(t *testing.T) {
	origin := goroutine.Origin{Entry: "example.com/app.poll", Started: "", CreatedBy: "example.com/app.New", CreatedAt: "/src/app/poll.go:3"}
	var reports []*refscan.Report
	var counts []map[goroutine.Origin]goroutine.Pile
	for _, n := range []int64{10, 20, 40, 80, 160} {
		reports = append(reports, report(frame(node("example.com/app.poll.$temporary", "<-chan time.Time", n, 136*n), refscan.RootInfo{
			Func: "example.com/app.poll", CreatedBy: "example.com/app.New", CreatedAt: "/src/app/poll.go:3", Goroutines: n,
		})))
		g := stuck("chan receive", "example.com/app.poll")
		g.Count = n
		counts = append(counts, map[goroutine.Origin]goroutine.Pile{origin: g})
	}
	ft, _, _ := newWorld(t, reports...).growth(counts, tenAndTen...)
	wantInOrder(t, ft.errorText(), " in example.com/app.poll\n    the usual cause: Stop of a time.Ticker or Timer does not close its channel")
}

// A variable of the environment is a name in a map and a string in a list: one call, one leak.
func TestGrowthOfEnvironment(t *testing.T) {
	var reports []*refscan.Report
	for _, n := range []int64{10, 20, 40, 80, 160} {
		reports = append(reports, report(
			global(withElems(node("syscall.env", "map[string]int", 1, 64*n, node("$mapkey", "string", n, 16*n)), n), "", 0),
			global(node("syscall.envs", "[]string", 1, 16*n, node("[*]", "string", n, 24*n)), "", 0)))
	}
	ft, _, _ := newWorld(t, reports...).growth(nil, tenAndTen...)
	wantInOrder(t, ft.errorText(),
		"leakcheck: memory grows with every call of op\n\n+1.00 string/op",
		"    the usual cause: os.Setenv is called with a new name each time, and os.Unsetenv is not\n",
		"    with it, as a rule for the same cause:\n       +1.00 string/op",
	)
}

// Timers are counted as timers, whether their number shows in the functions that they run or in
// themselves.
func TestTimersAreCountedAsTimers(t *testing.T) {
	for _, keeps := range [][]*refscan.Node{nil, {node("$fn", "func context.WithDeadlineCause.func2", 1, 96)}} {
		timers := func(n int64) *refscan.Node {
			for i, k := range keeps {
				keeps[i] = node(k.Name, k.Type, 5*n, 120*n) // including its unknown memory
			}
			return pendingTimers("context.WithTimeout", n, far, far, keeps...)
		}
		ft, _, _ := newWorld(t, growing(timers, 10, 20, 40, 80, 160)...).growth(nil, tenAndTen...)
		wantInOrder(t, ft.errorText(), "\n\n+1.00 timer/op (+", ") via timer(context.WithTimeout)\n    the usual cause: the cancel function of a context is not called\n    timers: 10 → 20 → 40 → 80 → 160 after ")
	}
}

// Types that package reflect made are kept by the package that has them made, and by reflect.
func TestGrowthOfReflectedTypes(t *testing.T) {
	var reports []*refscan.Report
	for _, n := range []int64{10, 20, 40, 80, 160} {
		std := func(root *refscan.Node, pkg string) *refscan.Node {
			root.Root.Package = pkg
			return root
		}
		reports = append(reports, report(
			std(global(node("runtime.reflectOffs", "struct {}", 0, 0, node("m", "map[int32]unsafe.Pointer", 2*n, 400*n)), "", 0), "runtime"),
			std(global(node("reflect.ptrMap", "sync.Map", 1, 64, node("[*]", "*reflect.ptrType", n, 160*n)), "", 0), "reflect"),
			std(global(node("encoding/gob.concreteTypeToName", "sync.Map", 1, 64, node("[$key]", "*reflect.structType", n, 80*n)), "", 0), "encoding/gob"),
			std(global(node("encoding/gob.userTypeCache", "sync.Map", 1, 64, node("[*]", "*encoding/gob.userTypeInfo", n, 40*n)), "", 0), "encoding/gob"),
		))
	}
	ft, _, _ := newWorld(t, reports...).growth(nil, tenAndTen...)
	wantInOrder(t, ft.errorText(),
		"leakcheck: memory grows with every call of op (2 leaks)\n\n+1.00 *reflect.structType/op (+80 B/op) via encoding/gob.concreteTypeToName[$key]\n",
		"    the usual cause: package gob is given a new type each time",
		"    with it, as a rule for the same cause:\n       +1.00 *gob.userTypeInfo/op",
		"\n+1.00 *reflect.ptrType/op (+160 B/op) via reflect.ptrMap[*]\n",
		"    with it, as a rule for the same cause:\n       +2.00 map[int32]unsafe.Pointer/op",
	)
}
