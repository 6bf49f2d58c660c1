package scanreport

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"

	"github.com/leakgate/leakgate/refscan"
)

func global(name, typ string, objects, bytes int64, children ...*refscan.Node) *refscan.Node {
	n := node(name, typ, objects, bytes, children...)
	n.Root = &refscan.RootInfo{Kind: refscan.RootGlobal}
	return n
}

func node(name, typ string, objects, bytes int64, children ...*refscan.Node) *refscan.Node {
	return &refscan.Node{Name: name, Type: typ, Figures: refscan.Figures{Objects: objects, Bytes: bytes}, Children: children}
}

func scanAt(second int64, roots ...*refscan.Node) *Scan {
	return &Scan{Source: "core file core", Program: "app", Taken: time.Unix(second, 0).UTC(), Report: &refscan.Report{GoVersion: "go1.26", Roots: roots}}
}

func TestGrowth(t *testing.T) {
	table := func(objects, entries int64) *refscan.Node {
		n := global("app.table", "map[int]int", 1, objects*100)
		n.Elems = entries
		return n
	}
	earlier := scanAt(100,
		global("app.all", "[]*T", 1, 80, node("[0]", "*T", 1, 16, node("name", "string", 1, 8)), node("[1]", "*T", 9, 16*9, node("name", "string", 9, 72))),
		table(1, 10), global("app.buf", "[]uint8", 1, 64), global("app.shrinks", "*T", 5, 80), global("app.ends", "*T", 5, 80))
	later := scanAt(110,
		global("app.all", "[]*T", 1, 160, node("[0]", "*T", 1, 16, node("name", "string", 1, 8)), node("[1]", "*T", 29, 16*29, node("name", "string", 29, 8*29))),
		table(3, 50), global("app.buf", "[]uint8", 1, 4096), global("app.shrinks", "*T", 4, 64), global("app.new", "*T", 2, 32))
	g, err := later.Since(earlier)
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, g.WriteText(&b, 10))
	require.Equal(t, `memory has grown since the earlier scan (4 leaks), 10s ago

+403 B/s in []uint8 via app.buf
    held by the package variable app.buf

+2.00 *T/s (+48 B/s) via app.all[*]
    objects: 10 → 30
    held by the package variable app.all

+4.00 entries/s (+20 B/s) in map[int]int via app.table
    entries: 10 → 50
    held by the package variable app.table

+0.20 *T/s (+3 B/s) via app.new
    objects: 0 → 2
    held by the package variable app.new
`, b.String())
	b.Reset()
	require.NoError(t, g.WriteText(&b, 1))
	require.Contains(t, b.String(), "… and 3 more\n")

	_, err = earlier.Since(later)
	require.ErrorContains(t, err, "10s later, not earlier")
	g, err = later.Since(later)
	require.NoError(t, err)
	require.Empty(t, g.Leaks)
}

// Roots that folding keeps apart are compared each with its own, whichever comes last.
func TestGrowthKeepsRootsApart(t *testing.T) {
	frame := func(objects int64, change func(*refscan.RootInfo)) *refscan.Node {
		n := global("app.serve.ctx", "*app.T", objects, 16*objects)
		n.Root = &refscan.RootInfo{Kind: refscan.RootFrame, Func: "app.serve", Goroutine: "app.serve", Goroutines: objects}
		change(n.Root)
		return n
	}
	for name, change := range map[string]func(*refscan.RootInfo){
		"caller":  func(r *refscan.RootInfo) { r.Caller = true },
		"test":    func(r *refscan.RootInfo) { r.Test = true },
		"package": func(r *refscan.RootInfo) { r.Package = "other/app" },
		"line":    func(r *refscan.RootInfo) { r.Line = 7 },
	} {
		roots := func() []*refscan.Node {
			return []*refscan.Node{frame(5, func(*refscan.RootInfo) {}), frame(1, change)}
		}
		g, err := scanAt(2, roots()...).Since(scanAt(1, roots()...))
		require.NoError(t, err)
		require.Empty(t, g.Leaks, name)
	}
}

// What the runtime holds for itself is no leak; what others put there is one.
func TestGrowthOfTheRuntime(t *testing.T) {
	at := func(second, n int64) *Scan {
		roots := []*refscan.Node{
			global("runtime.allp", "[]*runtime.p", 1, 8*n, node("[*]", "*runtime.p", n, 80*n, node("sudogbuf[*]", "*runtime.sudog", n, 96*n))),
			global("runtime.(timers)", "", 0, 0, node("heap", "[]runtime.timerWhen", 1, 16*n, node("[*].timer", "*time.Timer", n, 96*n))),
			global("runtime.(objects of the scheduler)", "", 0, 0, node("?", "*runtime.g", n, 400*n)),
			global("runtime.(gaps of the tiny allocator)", "", 0, 5*n),
			global("fmt..typeAssert.3.Cache", "*internal/abi.TypeAssertCache", 1, 48*n),
			global("sync.oldPools", "[]*sync.Pool", 1, 8*n, node("[*]", "*sync.Pool", 1, 64)),
			global("runtime.foreign", "[]interface {}", 1, 16*n, node("[*]", "*app.T", n, 32*n)),
			global("app.gs", "[]*runtime.g", 1, 80, node("[*]", "*runtime.g", n, 400*n)),
		}
		for _, r := range roots {
			r.Root.Package, _, _ = strings.Cut(r.Name, ".")
		}
		return scanAt(second, roots...)
	}
	g, err := at(2, 20).Since(at(1, 10))
	require.NoError(t, err)
	var paths []string
	for _, l := range g.Leaks {
		paths = append(paths, l.Path)
	}
	require.Equal(t, []string{"app.gs[*]", "runtime.foreign[*]"}, paths)
}

// Of three scans, what grew before the second one as well goes on to grow.
func TestSteadyGrowth(t *testing.T) {
	at := func(second, leaked, cached, pooled int64) *Scan {
		return scanAt(second,
			global("app.leaked", "[]*app.T", 1, 64, node("[*]", "*app.T", leaked, 96*leaked)),
			global("app.cache", "map[string]*app.C", 1, 64, node("[*]", "*app.C", cached, 96*cached)),
			global("app.pool", "sync.Pool", 0, 0, node("local", "[]sync.poolLocal", pooled, 96*pooled)))
	}
	first, second, third := at(1, 10, 5, 1), at(2, 20, 5, 2), at(3, 30, 9, 9)
	before, err := second.Since(first)
	require.NoError(t, err)
	g, err := third.Since(second)
	require.NoError(t, err)
	require.Equal(t, 2, len(g.Leaks))
	g.Steady(before)
	var b strings.Builder
	require.NoError(t, g.WriteText(&b, 10))
	leaks, once, _ := strings.Cut(b.String(), "but had not before it")
	require.Contains(t, leaks, "(1 leak), 1s ago")
	require.Contains(t, leaks, "via app.leaked[*]\n")
	require.Contains(t, once, "via app.cache[*]\n")
	require.NotContains(t, b.String(), "app.pool")
}

// Without a time between two scans there is no rate.
func TestGrowthWithoutTime(t *testing.T) {
	g, err := scanAt(1, global("app.all", "*T", 20, 320)).Since(scanAt(1, global("app.all", "*T", 10, 160)))
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, g.WriteText(&b, 10))
	require.Contains(t, b.String(), "+10 *T (+160 B) via app.all\n")
}

func TestHeader(t *testing.T) {
	s := scanAt(1, global("app.all", "*T", 2000, 64000, node("next", "*T", 1, 10), node("big", "[]int", 1, 64000)))
	s.Report.Stopped = &refscan.Stopped{Phase: "mark", Threads: 1, Goroutines: 2, Interrupted: 1, UnreachedObjects: 5, UnreachedBytes: 80}
	s.Report.Pause = 1500 * time.Microsecond
	s.Report.Totals = refscan.Totals{LiveObjects: 1500, LiveBytes: 128 << 10}
	var b strings.Builder
	require.NoError(t, s.WriteText(&b, 10))
	require.Contains(t, b.String(), "go1.26: 2,002 objects (values, and entries of maps) in 1,500 heap blocks, 128.0 KiB reachable\n", "the tree has 2,002")
	require.Contains(t, b.String(), "stopped:  for 1.5 ms; garbage collector: mark; 1 thread, 2 goroutines\n")
	require.Contains(t, b.String(), "guessed:  innermost frames and registers of 1 goroutine, whole stacks of 0: ")
	require.Contains(t, b.String(), "audit:    0 dangling references; nothing leads to 5 objects, 80 B, that the last")
	require.Contains(t, b.String(), "         2,002   125.0 KiB           -  app.all  *T\n             1    62.5 KiB           -  └─ big  []int\n")
	require.NotContains(t, b.String(), "next", "too small a part")
	require.Empty(t, s.Unsound())
	require.Contains(t, b.String(), "which only another collection could tell (-audit)\n")

	s.Audit = &Audit{Waited: time.Second}
	b.Reset()
	require.NoError(t, s.WriteText(&b, 10))
	require.Contains(t, b.String(), "audit:    0 dangling references; nothing leads to 5 objects, 80 B, that the collection before found alive: the next one, 1s later, found none of them alive: none was missed\n")
	s.Audit.MissedObjects, s.Audit.MissedBytes = 2, 32
	b.Reset()
	require.NoError(t, s.WriteText(&b, 10))
	require.Contains(t, b.String(), "1s later, found 2 of them alive, 32 B\n")
	require.Empty(t, s.Unsound())
	s.Audit.MissedBytes = 1 << 20
	require.Contains(t, s.Unsound(), "nothing leads to 2 objects, 1.0 MiB, that the next collection found alive: ")
	s.Report.Stopped.Dangling = 1
	require.Contains(t, s.Unsound(), "1 reference to memory without an object")
}

func TestReadWhatWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scan.json")
	s := scanAt(5, global("app.all", "*T", 2000, 64000, node("next", "*T", 1, 10)))
	require.NoError(t, s.Write(path))
	got, err := Read(path)
	require.NoError(t, err)
	require.Equal(t, s, got)
	for content, want := range map[string]string{
		``:                                       "no report of leakgate scan",
		`{}`:                                     "no report of leakgate scan",
		`{"schema":9,"report":{}}`:               "has version 9",
		`{"schema":1,"report":{"roots":[null]}}`: "a node of the report is missing",
		`{"schema":1,"report":{"roots":[{"name":"x"}]}}`:                                 "a node of the report is missing",
		`{"schema":1,"report":{"roots":[{"root":{"kind":"global"},"children":[null]}]}}`: "a node of the report is missing",
	} {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o666))
		_, err := Read(path)
		require.ErrorContains(t, err, want, content)
	}
}

// A scan may come from anywhere: what can be read can be shown and compared.
func FuzzDecode(f *testing.F) {
	for _, s := range []*Scan{
		scanAt(1, global("app.x", "[]*app.T", 1, 64, node("[*]", "*app.T", 3, 96))),
		scanAt(2),
	} {
		var b bytes.Buffer
		require.NoError(f, s.Encode(&b))
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Decode(data, "scan.json")
		if err != nil {
			return
		}
		require.NoError(t, s.WriteText(io.Discard, 10))
		if g, err := s.Since(scanAt(1)); err == nil {
			require.NoError(t, g.WriteText(io.Discard, 10))
		}
	})
}
