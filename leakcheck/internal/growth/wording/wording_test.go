package wording_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/engine/native/nativeholders"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/reporttest"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/wording"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
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
	r := report(roots...)
	f := tree.GrowForest(r)
	return &finding.Snapshot{
		Forest: f, Eval: &check.Evaluation{Seen: &check.Seen{Observation: &observe.Observation{Report: r}, Everything: f}},
		Goroutines: map[goroutine.Origin]goroutine.Pile{},
	}
}

// over is a wording of snapshots with these figures, after the usual calls.
func over(figures []int64, snapshot func(n int64) *finding.Snapshot) *wording.Wording {
	h := &finding.History{Env: &environ.Environment{Dir: "/src/app", ModulePath: "example.com/app", PackagePath: "example.com/app"}}
	for i, n := range figures {
		m := snapshot(n)
		m.Calls = usual[i]
		h = h.With(m)
	}
	return &wording.Wording{Finder: finding.Finder{History: h, Req: new(request.Request)}, Each: 1, Batches: []int{10, 20, 40, 80}}
}

func heap(root func(n int64) *refscan.Node) *wording.Wording {
	return over(usual, func(n int64) *finding.Snapshot { return snapshot(root(n)) })
}

// item is one resource of a size.
func item(k ledger.Kind, name string, size int64) ledger.Item {
	return ledger.Item{Kind: k, Names: [ledger.Levels]string{name, name, name}, Size: size}
}

func held(items func(n int64) []ledger.Item) *wording.Wording {
	return over(usual, func(n int64) *finding.Snapshot {
		m := snapshot()
		m.Ledger = &ledger.Ledger{Items: items(n)}
		return m
	})
}

// worker is an origin of goroutines.
var worker = goroutine.Origin{Entry: "example.com/app.work", CreatedBy: "example.com/app.New", CreatedAt: "/src/app/new.go:3"}

// working makes goroutines of it.
func working(n int64, state string, calls ...goroutine.Call) goroutine.Pile {
	calls = append(calls, goroutine.Call{Function: worker.Entry, At: "/src/app/work.go:7"})
	return goroutine.Pile{Count: n, Frames: n * int64(len(calls)), State: state, Calls: calls, Outer: len(calls)}
}

func piled(roots func(n int64) []*refscan.Node, items func(n int64) []ledger.Item) *wording.Wording {
	return over(usual, func(n int64) *finding.Snapshot {
		m := snapshot()
		if roots != nil {
			m = snapshot(roots(n)...)
		}
		if items != nil {
			m.Ledger = &ledger.Ledger{Items: items(n)}
		}
		m.Goroutines[worker] = working(n, "select")
		return m
	})
}

// failure is the body of a message, without its end.
func failure(w *wording.Wording) string {
	text, _, _ := strings.Cut(strings.Join(w.Failure(w.Growth(), 160), "\n"), "\n\nop was called ")
	return text
}

func wantText(t *testing.T, what, want, got string) {
	t.Helper()
	assert.Equal(t, strings.TrimSpace(want), got, what)
}

func TestFailureOnTheHeap(t *testing.T) {
	wantText(t, "objects", `
leakcheck: memory grows with every call of op

+1.00 *app.Session/op (+424 B/op) via example.com/app.sessions[*]
    objects: 10 → 20 → 40 → 80 → 160 after 10, 20, 40, 80 and 160 calls
    held by the package variable example.com/app.sessions (registry.go:12)

    added by 150 calls:
       objects       bytes
             -           -  example.com/app.sessions  map[string]*app.Session, 150 entries
           150    14.1 KiB  └─ [*]  *app.Session  ~
           150    46.9 KiB     └─ buf  []uint8
    one of the references marked ~ should have been dropped

    besides:
            75     1.2 KiB  example.com/app.sessions[*].id  string
`, failure(heap(sessions)))
}

func TestFailureOfGoroutines(t *testing.T) {
	pool := func(n int64) []*refscan.Node {
		return []*refscan.Node{frame(node("example.com/app.work.p", "*example.com/app.pool", n, 64*n), refscan.RootInfo{Func: worker.Entry, CreatedAt: worker.CreatedAt})}
	}
	wantText(t, "goroutines", `
leakcheck: memory grows with every call of op

+1.00 goroutine/op (+64 B/op beside the stack) in example.com/app.work
    goroutines: 10 → 20 → 40 → 80 → 160 after 10, 20, 40, 80 and 160 calls
    with each: +1.00 fd/op: socket
    in state: select, at example.com/app.work (work.go:7)
    created by example.com/app.New (new.go:3)

    what they keep alive:
    held by the variable p of example.com/app.work

    added by 150 calls:
       objects       bytes
           150     9.4 KiB  example.com/app.work.p  *app.pool
`, failure(piled(pool, func(n int64) []ledger.Item { return []ledger.Item{item(ledger.Descriptor, "socket", n)} })))

	// where they stand, and the usual causes
	at := func(g func(n int64) goroutine.Pile, roots func(n int64) []*refscan.Node) string {
		return failure(over(usual, func(n int64) *finding.Snapshot {
			m := snapshot(roots(n)...)
			m.Goroutines[worker] = g(n)
			return m
		}))
	}
	none := func(int64) []*refscan.Node { return nil }
	text := at(func(n int64) goroutine.Pile {
		g := working(n, "sleep", goroutine.Call{Function: "time.Sleep", At: "/go/src/time/sleep.go:1"})
		g.Sleep = 10 * time.Second
		return g
	}, none)
	assert.Contains(t, text, "\n    in state: sleep, in time.Sleep (for up to 10s), called by example.com/app.work (work.go:7)\n")
	text = at(func(n int64) goroutine.Pile {
		return working(n, "IO wait", goroutine.Call{Function: "net.(*netFD).Read"})
	}, none)
	assert.Contains(t, text, "\n    the usual cause: a net.Conn is closed neither here nor by its peer\n")
	text = at(func(n int64) goroutine.Pile { return working(n, "chan receive") }, func(n int64) []*refscan.Node {
		return []*refscan.Node{frame(node("example.com/app.work.c", "chan time.Time", n, 96*n), refscan.RootInfo{Func: worker.Entry, CreatedAt: worker.CreatedAt})}
	})
	assert.Contains(t, text, "\n    the usual cause: Stop of a time.Ticker or Timer does not close its channel")
	text = at(func(n int64) goroutine.Pile {
		g := working(1, "select", goroutine.Call{Function: "example.com/app.step"}, goroutine.Call{Function: "example.com/app.step"})
		g.Frames = n
		return g
	}, none)
	assert.Contains(t, text, "\n+1.00 frame/op on the stack of example.com/app.work\n    the usual cause: example.com/app.step calls itself for the next step, and does not return\n    frames: 10 → 20")
}

func TestFailureOfResources(t *testing.T) {
	wantText(t, "resources", `
leakcheck: resources grow with every call of op

+1.00 fd/op: socket, +4.0 KiB/op: a file
    descriptors: 10 → 20 → 40 → 80 → 160 after 10, 20, 40, 80 and 160 calls
    bytes mapped: 40,960 → 81,920 → 163,840 → 327,680 → 655,360 after 10, 20, 40, 80 and 160 calls
    no Go object grows with them: lost, unless a number in memory that does not grow stands for them
`, failure(held(func(n int64) []ledger.Item {
		return []ledger.Item{item(ledger.Descriptor, "socket", n), item(ledger.Mapping, "a file", 4096*n)}
	})))
	for _, tt := range []struct {
		kind       ledger.Kind
		name       string
		size       int64
		title, end string
	}{
		{ledger.Process, "sleep", 1, "+1.00 child process/op: sleep", "Wait is not called for what was started"},
		{ledger.Process, "sleep", 2, "+2.00 child processes/op: sleep", "Wait is not called for what was started"},
		{ledger.Thread, "threads", 1, "+1.00 thread/op", "threads of C, or of goroutines that ended locked to theirs"},
		{ledger.Mapping, "a file", 8192, "+8.0 KiB/op: a file", "mapped by a system call or by C, and not unmapped"},
		{ledger.File, "/elsewhere/x-*", 1, "+1.00 temporary file/op: /elsewhere/x-*", "they go with the test, as all in a folder of t.TempDir, and would stay in another folder: remove them"},
		{ledger.Variable, "variables", 1, "+1.00 environment variable/op", "160 calls"},
	} {
		text := failure(held(func(n int64) []ledger.Item { return []ledger.Item{item(tt.kind, tt.name, tt.size*n)} }))
		assert.Contains(t, text, "\n\n"+tt.title+"\n    ", tt.name)
		assert.True(t, strings.HasSuffix(text, tt.end), text)
	}
	w := held(func(n int64) []ledger.Item { return []ledger.Item{item(ledger.Process, "sleep", n)} })
	call := func(name string) wording.Maker {
		return wording.Maker{Call: goroutine.Call{Function: "example.com/app." + name, At: "/src/app/run.go:9"}, Stack: []goroutine.Call{{Function: "os/exec.(*Cmd).Start"}, {Function: "example.com/app." + name, At: "/src/app/run.go:9"}}}
	}
	w.Makers = map[string][]wording.Maker{"process": {call("a"), call("b"), call("c"), call("d")}}
	assert.True(t, strings.HasSuffix(failure(w), "\n    made by example.com/app.a (run.go:9), or example.com/app.b (run.go:9), or example.com/app.c (run.go:9)"), failure(w))
	w.Makers, w.Recorded, w.RecordedCalls = map[string][]wording.Maker{"process": nil}, w.Snapshots[3], 7
	assert.True(t, strings.HasSuffix(failure(w), "\n    which call makes them is not known: op is slow while its allocations are recorded, so that 7 of the last 80 calls were"), failure(w))

	// what stands for them
	w = over(usual, func(n int64) *finding.Snapshot {
		m := snapshot(global(node("example.com/app.files", "[]*os.File", 1, 8, node("[10+]", "*os.file", n, 96*n)), "", 0))
		m.Ledger = &ledger.Ledger{Items: []ledger.Item{item(ledger.Descriptor, "pipe", 2*n)}}
		return m
	})
	text := failure(w)
	assert.Contains(t, text, "leakcheck: memory and resources grow with every call of op\n\n+2.00 fd/op: pipe, with +1.00 *os.file/op (+96 B/op) via example.com/app.files[*]\n")
	assert.Contains(t, text, "\n    one of 2 belongs to a *os.file at example.com/app.files[*]\n")
}

// native is a wording of blocks of C code, of 32 bytes.
func native() *wording.Wording {
	w := over(usual, func(n int64) *finding.Snapshot {
		m := snapshot()
		m.Native = &nativeheap.Heap{Blocks: n, Bytes: 32 * n, Sizes: map[int64]int64{32: n}, Threads: 1}
		m.Ledger = new(ledger.Ledger)
		m.Ledger.AddNative(m.Native)
		return m
	})
	w.RecordsNative = true
	return w
}

// Native memory has its sizes, its holders, and the calls that allocated it.
func TestFailureOfNativeMemory(t *testing.T) {
	w := native()
	wantText(t, "blocks", `
leakcheck: resources grow with every call of op

+1.00 native block/op (+32 B/op): 1 x 32
    native blocks: 10 → 20 → 40 → 80 → 160 after 10, 20, 40, 80 and 160 calls
    no Go object grows with them: lost, or held by C code

    leakgate run -native names the calls that allocate it
`, failure(w))
	w.Native = &wording.NativeCalls{Unknown: "the test ended"}
	assert.True(t, strings.HasSuffix(failure(w), "\n    which calls allocate it is not known: the test ended"), failure(w))
	w.Native = &wording.NativeCalls{Calls: 50, Answer: &verdict.NativeAnswer{Lines: []verdict.NativeLine{{Text: "1.00/op in z_open", At: "/src/app/z.c:7"}, {Mapping: true, Text: "a mapping"}}}}
	w.Holders = &finding.NativeHolders{Calls: 80, UpTo: 160, Found: &nativeholders.Result{
		All: nativeholders.Sum{Blocks: 80}, Holders: []nativeholders.Holder{{Kind: nativeholders.Variable, Name: "cache", File: "libz.so", Sum: nativeholders.Sum{Blocks: 80}}},
	}}
	wantText(t, "what is known", `
leakcheck: resources grow with every call of op

+1.00 native block/op (+32 B/op): 1 x 32
    native blocks: 10 → 20 → 40 → 80 → 160 after 10, 20, 40, 80 and 160 calls
    held by the C variable cache (libz.so) -> 1.00 native block/op

    allocated by:
    1.00/op in z_open (z.c:7)
`, failure(w))
	w.Holders.Found.Holders[0].Blocks = 40
	assert.Contains(t, failure(w), "-> 0.50 native blocks/op")
	assert.Contains(t, strings.Join(w.Failure(w.Growth(), 160), "\n"), "; then 100 with calls of C code recorded")
	w.Holders = &finding.NativeHolders{Err: errors.New("no memory")}
	assert.Contains(t, failure(w), "\n    could not tell who holds them: no memory\n")
}

// Growth that is explained in short, in more lines than a message has, or that comes with another
// one.
func TestManyLeaks(t *testing.T) {
	w := over(usual, func(n int64) *finding.Snapshot {
		var roots []*refscan.Node
		for i := range int64(12) {
			roots = append(roots, global(node("example.com/app.list"+string(rune('a'+i)), "*example.com/app.T", n, (100-i)*n), "", 0))
		}
		for _, name := range []string{"concreteTypeToName", "userTypeCache", "nameToConcreteType", "a", "b", "c", "d"} {
			roots = append(roots, global(node("encoding/gob."+name, "*encoding/gob.info", n, n), "", 0))
		}
		m := snapshot(roots...)
		m.Goroutines[worker] = working(n, "select")
		return m
	})
	text := failure(w)
	assert.True(t, strings.HasPrefix(text, "leakcheck: memory grows with every call of op (14 leaks)\n\n+1.00 goroutine/op in example.com/app.work\n"), text)
	assert.Contains(t, text, "\n\n+1.00 *app.T/op (+99 B/op) via example.com/app.listb\n+1.00 *app.T/op (+98 B/op) via example.com/app.listc\n")
	assert.True(t, strings.HasSuffix(text, "\n… and 4 more"), text)

	gob := over(usual, func(n int64) *finding.Snapshot {
		var roots []*refscan.Node
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			roots = append(roots, global(node("encoding/gob."+name, "*encoding/gob.info", n, n), "", 0))
		}
		return snapshot(roots...)
	})
	text = failure(gob)
	assert.Contains(t, text, "\n    the usual cause: package gob is given a new type each time")
	assert.Contains(t, text, "\n    with it, as a rule for the same cause:\n       +1.00 *gob.info/op (+1.0 B/op) via encoding/gob.b\n")
	assert.True(t, strings.HasSuffix(text, "\n       … and 2 more"), text)
}

// The rates of entries, bytes, timers, queues, and of what is missed or moves.
func TestRates(t *testing.T) {
	variable := func(typ string, objects, bytes int64, children ...*refscan.Node) *refscan.Node {
		return global(node("example.com/app.v", typ, objects, bytes, children...), "", 0)
	}
	timer := func(n int64) *refscan.Node {
		root := node("timer(example.com/app.expire)", "", 0, 0, node("$timer", "*time.Timer", n, 112*n))
		root.Root = &refscan.RootInfo{Kind: refscan.RootTimer, Package: "example.com/app", Timers: n, DueLast: time.Hour}
		return root
	}
	turn := false
	for _, tt := range []struct {
		name string
		root func(n int64) *refscan.Node
		want string // parts of the text, between bars
	}{
		{"entries", func(n int64) *refscan.Node { return withElems(variable("map[int]bool", 1, 4096+16*n), n) }, "+1.00 entries/op (+16 B/op) in map[int]bool via example.com/app.v|entries: 10 → "},
		{"entries of their own", func(n int64) *refscan.Node {
			return withElems(variable("map[int]bool", 1, 16*n, node("$mapval", "bool", n, 0)), n)
		}, "+1.00 entries/op (+16 B/op) in map[int]bool via example.com/app.v|entries: 10 → "},
		{"bytes", func(n int64) *refscan.Node { return variable("[]int", 1, 8*n) }, "+8.0 B/op in []int via example.com/app.v|bytes: 80 → "},
		{"a queue", func(n int64) *refscan.Node {
			q := variable("chan int", 1, 1<<20)
			q.RoomBytes = q.Bytes - 8*n
			return q
		}, "+8.0 B/op in the buffer of a chan int via example.com/app.v|bytes in use: 80 → |each call sends to it, and nobody receives"},
		{"timers", timer, "+1.00 timer/op (+112 B/op) via timer(example.com/app.expire)|the usual cause: Stop is not called for the Timer that time.AfterFunc returned|timers: 10 → "},
		{"a list", func(n int64) *refscan.Node {
			list := variable("*example.com/app.T", n, 16*n)
			list.Recursion = "next"
			return list
		}, "+1.00 *app.T/op (+16 B/op) via example.com/app.v.next"},
		{"what moves", func(n int64) *refscan.Node {
			turn = !turn
			name := "here"
			if turn {
				name = "there"
			}
			return variable("struct {}", 1, 8, node(name, "*example.com/app.T", n, 8*n))
		}, "via example.com/app.v.there|counted wherever they are"},
		{"the test's own", func(n int64) *refscan.Node {
			return frame(node("example.com/app.TestX.v", "[]*example.com/app.T", 1, 8, node("[10+]", "*example.com/app.T", n, 8*n)), refscan.RootInfo{Func: "example.com/app.TestX", Test: true, Caller: true})
		}, "held by your test itself: the variable v of example.com/app.TestX|if op is meant to fill it, empty it in op; else it is part of what leaks"},
		{"a field of what a function has", func(n int64) *refscan.Node {
			return frame(node("example.com/app.run.v", "*example.com/app.Pool", 1, 8, node("conns", "*example.com/app.T", n, 8*n)), refscan.RootInfo{Func: "example.com/app.run"})
		}, "grows in the field conns of example.com/app.Pool|held by the variable v of example.com/app.run"},
	} {
		text := failure(heap(tt.root))
		for part := range strings.SplitSeq(tt.want, "|") {
			assert.Contains(t, text, part, tt.name)
		}
	}
	w := over(usual, func(n int64) *finding.Snapshot {
		m := snapshot()
		m.Forest = tree.Forest{tree.Missed(refscan.Totals{MissedObjects: n, MissedBytes: 16 * n})}
		m.Eval.Report.Missed = []*refscan.Node{node("", "*example.com/app.T", 7, 8), node("", "", 9, 9)}
		return m
	})
	assert.Contains(t, failure(w), "\n    held by nothing that a snapshot shows")
	assert.Contains(t, failure(w), "\n    among them, by what the allocator recorded: 7 *app.T\n")
	op := heap(func(n int64) *refscan.Node {
		root := node("finalizer(*struct { AssertNoGrowth func() })", "", 1, 8, node("AssertNoGrowth", "func()", 1, 8, node("list", "*example.com/app.T", n, 8*n)))
		root.Root = &refscan.RootInfo{Kind: refscan.RootFinalizer}
		return root
	})
	for _, m := range op.Snapshots {
		m.Forest = tree.NameHeldOps(m.Forest)
	}
	assert.Contains(t, failure(op), "via op.list\n    objects: 10 → 20 → 40 → 80 → 160 after 10, 20, 40, 80 and 160 calls\n    held by what op itself refers to: a variable that it captures, or its receiver\n")
}
