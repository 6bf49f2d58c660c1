package tree_test

import (
	"testing"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/testkit/reporttest"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
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
)

// Each entry has a reason and a path; the paths are those of TestRetainersExist.
func TestRetainerTable(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range tree.Retainers {
		if r.Reason == "" || r.Path == "" || r.Since > r.Until || seen[r.Path] {
			t.Errorf("%+v", r)
		}
		seen[r.Path] = true
	}
	var e environ.Environment
	if !tree.InVersions(&e, 1, 99) || tree.InVersions(&e, 1, 2) {
		t.Error("the Go version is not recognised")
	}
}

// Hidden memory has only types of the library, or of the runtime, along its path, and lies at the
// very field.
func TestRetainerPaths(t *testing.T) {
	transport := func(children ...*refscan.Node) *refscan.Node {
		return global(node("net/http.DefaultTransport", "*net/http.Transport", 0, 0, children...), "", 0)
	}
	for _, tt := range []struct {
		name string
		root *refscan.Node
		want string // path of the retainer
	}{
		{"idle connections", transport(node("idleConn", "map[net/http.connectMethodKey][]*net/http.persistConn", 1, 48)), "net/http.DefaultTransport.idleConn"},
		{"protocols", transport(node("altProto", "map[string]net/http.RoundTripper", 1, 48)), ""},
		{"headers", transport(node("ProxyConnectHeader", "map[string][]string", 1, 48)), ""},
		{"another field that begins like it", transport(node("idleConnX", "[]string", 1, 48)), ""},
		{"a connection of the program's", transport(node("idleConn[*].conn", "*example.com/app.conn", 1, 48)), ""},
		{"slots", global(node("syscall.envs", "[]string", 1, 48), "", 0), "syscall.envs"},
		{"variables", global(node("syscall.envs", "[]string", 0, 0, node("[*]", "string", 1, 48)), "", 0), ""},
		{"goroutines", global(node("runtime.allgptr", "[]*runtime.g", 0, 0, node("[*]", "*runtime.g", 1, 480)), "", 0), "runtime.allgptr"},
		{"labels of goroutines", global(node("runtime.allgptr", "[]*runtime.g", 0, 0, node("labels", "*runtime/pprof.labelMap", 1, 480)), "", 0), ""},
		{"timers", global(node("runtime.allp", "[]*runtime.p", 0, 0, node("timer", "*time.Timer", 1, 480)), "", 0), ""},
		{"what nobody knows", global(node("runtime.allp", "[]*runtime.p", 0, 0, node("?", "", 1, 480)), "", 0), ""},
		{"a cache of the compiler's", global(node("fmt..typeAssert.3.Cache", "*internal/abi.TypeAssertCache", 1, 48), "", 0), tree.CompilerCache},
		{"other variables of the runtime", global(node("runtime.handlers", "[]func()", 1, 48), "", 0), ""},
		{"other packages below internal", global(node("internal/poll.pool", "[]*internal/poll.FD", 1, 48), "", 0), ""},
		{"the testing package's variables", global(node("testing.hooks", "[]func()", 1, 48), "", 0), ""},
	} {
		f := tree.GrowForest(report(tt.root))
		b := f[0]
		for len(b.Children) > 0 {
			b = b.Children[0]
		}
		got := ""
		if r := tree.RetainerOf((&environ.Environment{}), b); r != nil {
			got = r.Path
		}
		if got != tt.want {
			t.Errorf("%s: %s is hidden by %q, want %q", tt.name, b.Path, got, tt.want)
		}
	}
}

// Records of package testing for a test are its own, except for the context, and for tests that the
// program holds.
func TestTestingRecords(t *testing.T) {
	for _, tt := range []struct {
		name string
		root *refscan.Node
		want string
	}{
		{"cleanups", node("testing.tRunner.t", "*testing.T", 1, 576, node("common.cleanups", "[]func()", 1, 8, node("[*]", "func testing.(*common).Cleanup.func1", 1, 16))), "cleanups"},
		{"what cleanups refer to", node("testing.tRunner.t", "*testing.T", 1, 576, node("common.cleanups[*]", "func testing.(*common).Cleanup.func1", 1, 8,
			node("f", "func example.com/app.(*Server).Close-fm", 1, 16, node("$recv.sessions", "[]*example.com/app.Session", 1, 8)))), ""},
		{"a context that a cleanup cancels", node("testing.tRunner.t", "*testing.T", 1, 576, node("common.cleanups[*].f.c.children", "map[context.canceler]struct {}", 1, 8)), ""},
		{"output", node("example.com/app.TestX.t", "*testing.T", 1, 576, node("common.output", "[]uint8", 1, 8)), "output"},
		{"of a benchmark", node("example.com/app.BenchmarkX.b", "*testing.B", 1, 576, node("common.output", "[]uint8", 1, 8)), "output"},
		{"of the test above", node("example.com/app.TestX.t", "*testing.T", 1, 576, node("common.parent", "*testing.common", 1, 8, node("cleanups", "[]func()", 1, 8))), "cleanups"},
		{"names of subtests", node("example.com/app.TestX.t", "*testing.T", 1, 576, node("tstate", "*testing.testState", 1, 8, node("match", "*testing.matcher", 1, 8))), "tstate"},
		{"contexts of the test above", node("example.com/app.TestX.t", "*testing.T", 1, 576, node("common.parent", "*testing.common", 1, 8, node("ctx.children[$key]", "*context.timerCtx", 1, 8))), ""},
		{"contexts", node("testing.tRunner.t", "*testing.T", 1, 576, node("common.ctx", "*context.cancelCtx", 1, 8)), ""},
		{"children of the context", node("testing.tRunner.t", "*testing.T", 1, 576, node("common.ctx", "*context.cancelCtx", 1, 8, node("children[$key]", "*context.timerCtx", 1, 8))), ""},
		{"tests that the program keeps", node("example.com/app.suite", "*example.com/app.Suite", 1, 8, node("t", "*testing.T", 1, 576, node("common.cleanups", "[]func()", 1, 8))), ""},
		{"tests", node("example.com/app.tests", "[]*testing.T", 1, 8, node("[*]", "*testing.T", 1, 576)), ""},
	} {
		b := tree.GrowForest(report(global(tt.root, "", 0)))[0]
		for len(b.Children) > 0 {
			b = b.Children[0]
		}
		got := ""
		if r := tree.TestingRecordOf((&environ.Environment{}), b); r != nil {
			got = r.Path
		}
		if got != tt.want {
			t.Errorf("%s: %s is the record %q, want %q", tt.name, b.Path, got, tt.want)
		}
	}
}

// Arrays of the runtime's that grow with the objects that they list, and gaps, get no note; objects
// do.
func TestNotesOfTheRuntime(t *testing.T) {
	gaps, list := &tree.Retainer{Path: symbol.TinyGaps, Reason: "gaps"}, &tree.Retainer{Path: "runtime.allp", RuntimeTypes: true, Reason: "at hand"}
	if notes := tree.NotesOf([]tree.Kept{{Retainer: gaps, Tally: tree.Tally{Objects: 0, Bytes: 12}, Path: symbol.TinyGaps}, {Retainer: list, Tally: tree.Tally{Objects: 0, Bytes: 4096}, Path: "runtime.allp"}}); len(notes) > 0 {
		t.Error(notes)
	}
	notes := tree.NotesOf([]tree.Kept{{Retainer: gaps, Tally: tree.Tally{Objects: 0, Bytes: 12}, Path: symbol.TinyGaps}, {Retainer: list, Tally: tree.Tally{Objects: 2, Bytes: 96}, Path: "runtime.allp"}})
	if len(notes) != 1 || notes[0] != "the runtime's own, not counted: 2 objects, 96 B at runtime.allp (at hand)" {
		t.Error(notes)
	}
}
