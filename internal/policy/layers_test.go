package policy

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// layers lists the packages of this repository that each package may import, apart from tests.
// Layers point one way: memory image, runtime model, object graph, report, verdict, presentation. A
// name with /... stands for all packages below it. A wing of the engine has one row for all its
// packages, which may also import each other.
var layers = []struct {
	folder string
	may    []string
}{
	{"internal/realtime", nil}, // the system's clock and stack traces, for all layers
	{"internal/procfs", nil},
	{"internal/pprofwire", nil}, // encoders: they do not know the meaning of what they write
	{"internal/winjob", nil},
	{"internal/wholefile", nil}, // else each layer has such code
	// numbers and lines for people, in messages and on terminals
	{"internal/textfmt", nil},
	{"internal/symbol", nil}, // the meaning of names, for all layers
	// the engine, by wings: below each a package may use those of its wing, and of the wings named
	{"internal/engine/memory", []string{"internal/realtime"}},
	{"internal/engine/symbols", []string{
		"internal/engine/memory/...", "internal/envvar", "internal/procfs", "internal/realtime", "internal/symbol", "internal/wholefile", "internal/winjob",
	}},
	{"internal/engine/runtime", []string{"internal/engine/memory/...", "internal/engine/symbols/...", "internal/symbol"}},
	{"internal/engine/process", []string{
		"internal/engine/memory/...", "internal/engine/symbols/...", "internal/engine/runtime/...", "internal/procfs", "internal/realtime",
	}},
	{"internal/engine/heap", []string{"internal/engine/memory/...", "internal/engine/symbols/...", "internal/engine/runtime/...", "internal/symbol"}},
	{"internal/engine/graph", []string{
		"internal/engine/memory/...", "internal/engine/symbols/...", "internal/engine/runtime/...", "internal/engine/heap/...", "internal/symbol",
	}},
	{"internal/engine/capture", []string{
		"internal/engine/memory/...", "internal/engine/symbols/...", "internal/engine/runtime/...", "internal/engine/process/...", "internal/engine/heap/...",
		"internal/engine/graph/...", "internal/envvar", "internal/realtime", "internal/symbol",
	}},
	{"internal/engine/native", []string{"internal/engine/...", "internal/procfs", "internal/symbol"}},
	{"internal/testkit", []string{"internal/engine/...", "internal/symbol", "refscan"}}, // for tests only
	{"refscan", []string{"internal/engine/...", "internal/pprofwire", "internal/symbol"}},
	// only the command imports it: see TestForeign
	{"refscan/foreign", []string{"refscan", "internal/engine/...", "internal/realtime", "internal/symbol"}},
	{"stackprof", []string{"refscan", "internal/pprofwire"}},
	{"internal/debughttp", nil}, // what handlers have in common
	{"stackprof/stackhttp", []string{"internal/debughttp", "stackprof", "refscan"}},
	{"refscan/scanreport", []string{"internal/symbol", "refscan", "internal/textfmt", "internal/pprofwire", "internal/wholefile"}},
	{"refscan/refscanhttp", []string{"internal/debughttp", "refscan", "refscan/scanreport"}},
	{"internal/spikerule", []string{"internal/textfmt"}}, // plain numbers: it knows nothing of heaps
	{"refscan/spike", []string{"internal/symbol", "refscan", "internal/engine/runtime/gcwatch", "internal/engine/runtime/rtlayout", "internal/engine/capture/snapshot", "internal/spikerule", "refscan/scanreport"}},

	{"golden", []string{"internal/wholefile"}}, // a file format: it knows nothing of heaps
	{"internal/verdict", nil},
	{"internal/envvar", nil}, // environment variables, for all layers
	{"leakcheck/internal/naming", []string{"internal/engine/symbols/debuginfo", "internal/textfmt", "internal/symbol"}},
	{"leakcheck/internal/environ", []string{
		"internal/envvar", "internal/symbol", "leakcheck/internal/naming", "refscan",
	}},
	// the door to memory of C: no other package of leakcheck imports what reads it
	{"leakcheck/internal/native", []string{
		"internal/engine/capture/snapshot", "internal/engine/graph/attribute", "internal/engine/graph/root", "internal/engine/native/nativeheap",
		"internal/engine/native/nativeholders", "internal/procfs", "internal/symbol", "internal/textfmt", "internal/verdict",
		"leakcheck/internal/naming", "refscan",
	}},
	{"leakcheck/internal/ledger", []string{"internal/engine/memory/headroom", "internal/engine/memory/offheap", "internal/procfs", "internal/textfmt", "leakcheck/internal/native"}},
	{"leakcheck/internal/observe", []string{
		"internal/engine/capture/proof", "internal/engine/capture/snapshot", "internal/engine/graph/attribute", "internal/engine/graph/root",
		"internal/engine/heap/heaptype",
		"internal/engine/symbols/debuginfo", "internal/symbol", "internal/textfmt", "leakcheck/internal/ledger", "leakcheck/internal/naming", "leakcheck/internal/native", "refscan",
	}},
	{"leakcheck/internal/artifact", []string{
		"golden", "internal/envvar", "internal/verdict", "internal/wholefile", "leakcheck/internal/environ", "leakcheck/internal/observe", "refscan",
		"stackprof",
	}},
	{"leakcheck/internal/goroutine", []string{
		"golden", "internal/realtime", "internal/symbol", "leakcheck/internal/tree", "leakcheck/internal/naming", "refscan",
	}},
	{"leakcheck/internal/tree", []string{
		"golden", "internal/symbol", "internal/textfmt", "leakcheck/internal/environ",
		"leakcheck/internal/naming", "refscan",
	}},
	{"leakcheck/internal/request", []string{
		"internal/engine/symbols/debuginfo", "internal/engine/capture/proof",
		"internal/symbol", "leakcheck/internal/environ", "leakcheck/internal/goroutine", "leakcheck/internal/ledger", "leakcheck/internal/naming", "leakcheck/internal/native",
		"leakcheck/internal/observe", "leakcheck/internal/tree", "refscan",
	}},
	{"leakcheck/internal/check", []string{
		"golden", "internal/symbol",
		"internal/textfmt", "internal/verdict", "leakcheck/internal/environ", "leakcheck/internal/goroutine",
		"leakcheck/internal/ledger", "leakcheck/internal/naming", "leakcheck/internal/native", "leakcheck/internal/observe", "leakcheck/internal/request",
		"leakcheck/internal/tree", "refscan",
	}},
	{"leakcheck/internal/message", []string{
		"golden", "internal/symbol", "leakcheck/internal/check",
		"leakcheck/internal/environ", "leakcheck/internal/goroutine", "leakcheck/internal/naming", "leakcheck/internal/native",
		"leakcheck/internal/observe", "internal/textfmt", "internal/verdict", "leakcheck/internal/tree", "refscan",
	}},
	{"leakcheck/internal/assertion", []string{
		"golden", "internal/engine/capture/proof", "internal/engine/memory/remedy",
		"internal/realtime", "internal/symbol", "internal/textfmt",
		"internal/verdict", "leakcheck/internal/artifact", "leakcheck/internal/check", "leakcheck/internal/environ", "leakcheck/internal/goroutine",
		"leakcheck/internal/ledger", "leakcheck/internal/message", "leakcheck/internal/naming", "leakcheck/internal/native", "leakcheck/internal/observe",
		"leakcheck/internal/request", "leakcheck/internal/tree", "refscan",
	}},
	{"leakcheck/internal/collected", []string{
		"internal/symbol", "internal/verdict", "leakcheck/internal/assertion", "leakcheck/internal/environ", "leakcheck/internal/message",
		"leakcheck/internal/naming", "leakcheck/internal/observe", "leakcheck/internal/request",
		"internal/textfmt", "leakcheck/internal/tree", "refscan",
	}},
	// it knows no snapshots
	{"leakcheck/internal/calls", []string{
		"internal/engine/memory/headroom", "internal/realtime", "internal/textfmt", "leakcheck/internal/environ", "leakcheck/internal/ledger", "refscan",
	}},
	{"leakcheck/internal/growth/series", []string{"internal/textfmt"}},
	{"leakcheck/internal/growth/finding", []string{
		"internal/symbol", "internal/textfmt",
		"leakcheck/internal/check", "leakcheck/internal/environ", "leakcheck/internal/goroutine", "leakcheck/internal/growth/series",
		"leakcheck/internal/ledger", "leakcheck/internal/message", "leakcheck/internal/native", "leakcheck/internal/request", "leakcheck/internal/tree", "refscan",
	}},
	{"leakcheck/internal/growth/wording", []string{
		"internal/symbol", "internal/textfmt", "internal/verdict",
		"leakcheck/internal/assertion", "leakcheck/internal/check", "leakcheck/internal/growth/finding",
		"leakcheck/internal/goroutine", "leakcheck/internal/growth/series", "leakcheck/internal/ledger",
		"leakcheck/internal/message", "leakcheck/internal/naming", "leakcheck/internal/native", "leakcheck/internal/observe", "leakcheck/internal/tree", "refscan",
	}},
	// it calls nothing and takes no snapshot
	{"leakcheck/internal/growth/trial", []string{
		"internal/symbol", "leakcheck/internal/assertion", "leakcheck/internal/calls",
		"leakcheck/internal/growth/finding", "leakcheck/internal/goroutine", "leakcheck/internal/growth/series",
		"leakcheck/internal/growth/wording", "leakcheck/internal/ledger", "refscan",
	}},
	{"leakcheck/internal/growth", []string{
		"internal/engine/memory/headroom", "internal/engine/capture/proof", "internal/engine/capture/snapshot", "internal/realtime", "internal/symbol", "internal/textfmt", "internal/verdict",
		"leakcheck/internal/artifact", "leakcheck/internal/assertion", "leakcheck/internal/calls", "leakcheck/internal/check", "leakcheck/internal/environ",
		"leakcheck/internal/growth/finding", "leakcheck/internal/goroutine", "leakcheck/internal/growth/series",
		"leakcheck/internal/growth/trial", "leakcheck/internal/growth/wording", "leakcheck/internal/ledger", "leakcheck/internal/native",
		"leakcheck/internal/observe", "leakcheck/internal/request", "leakcheck/internal/tree", "refscan",
	}},
	{"leakcheck/internal/service", []string{
		"internal/engine/capture/proof", "internal/realtime", "internal/symbol", "internal/textfmt",
		"leakcheck/internal/goroutine", "leakcheck/internal/ledger", "leakcheck/internal/native", "leakcheck/internal/observe", "leakcheck/internal/tree", "refscan", "refscan/foreign",
	}},
	{"internal/alloctrace", nil},
	{"internal/alloccode", []string{"internal/alloctrace"}},
	{"leakcheck/internal/alloc", []string{
		"golden", "internal/alloccode", "internal/alloctrace", "internal/engine/memory/headroom", "internal/engine/memory/offheap", "internal/engine/runtime/rtlayout", "internal/engine/capture/snapshot", "internal/symbol", "internal/realtime", "internal/verdict",
		"leakcheck/internal/assertion", "leakcheck/internal/calls", "leakcheck/internal/check",
		"leakcheck/internal/environ",
		"leakcheck/internal/message", "leakcheck/internal/naming", "leakcheck/internal/observe", "leakcheck/internal/request",
		"internal/textfmt", "leakcheck/internal/tree", "refscan",
	}},
	{"leakcheck/internal/peak", []string{
		"internal/engine/runtime/gcwatch", "internal/engine/capture/snapshot", "internal/realtime", "internal/symbol", "internal/textfmt", "internal/verdict", "leakcheck/internal/assertion",
		"leakcheck/internal/calls", "leakcheck/internal/check", "leakcheck/internal/environ", "leakcheck/internal/message",
		"leakcheck/internal/observe", "leakcheck/internal/request", "leakcheck/internal/tree", "refscan",
	}},
	{"leakcheck", []string{"leakcheck/internal/...", "internal/verdict", "refscan"}},

	{"github.com/leakgate/leakgate", nil},                                           // the sources, for -auto
	{"cmd/leakgate/internal/auto/repeat", []string{"internal/envvar", "leakcheck"}}, // linked into tests
	{"cmd/leakgate/internal/auto/repeat/ended", nil},                                // linked into tests
	{"cmd/leakgate/internal/auto/workspace", []string{
		"cmd/leakgate/internal/auto/source", "cmd/leakgate/internal/auto/repeat", "cmd/leakgate/internal/auto/repeat/ended",
		"cmd/leakgate/internal/gotest", "internal/envvar", "internal/wholefile",
	}},
	{"cmd/leakgate/internal/auto/drive", []string{
		"cmd/leakgate/internal/auto/repeat", "cmd/leakgate/internal/cli", "cmd/leakgate/internal/gotest", "internal/envvar", "internal/textfmt", "internal/verdict",
	}},
	{"cmd/leakgate/internal/auto/source", []string{"internal/symbol"}},
	{"cmd/leakgate/internal/auto/finding", []string{
		"cmd/leakgate/internal/auto/drive", "cmd/leakgate/internal/auto/repeat", "cmd/leakgate/internal/auto/source", "golden", "internal/symbol", "internal/textfmt", "internal/verdict",
	}},
	{"cmd/leakgate/internal/artifacts", []string{"cmd/leakgate/internal/cli", "internal/symbol", "internal/verdict", "internal/wholefile"}},
	{"cmd/leakgate/internal/goldenset", []string{"golden", "internal/verdict", "internal/wholefile", "cmd/leakgate/internal/gotest", "cmd/leakgate/internal/outcome"}},
	{"cmd/leakgate/internal/gotest", []string{"internal/winjob"}},
	{"cmd/leakgate/internal/revision", []string{"cmd/leakgate/internal/gotest"}},
	{"cmd/leakgate/internal/command/doctor/program", nil},
	{"cmd/leakgate/internal/isolate", []string{"cmd/leakgate/internal/gotest", "internal/envvar", "internal/wholefile"}},
	{"cmd/leakgate/internal/outcome", []string{"internal/textfmt", "internal/verdict", "cmd/leakgate/internal/artifacts", "cmd/leakgate/internal/gotest"}},
	{"cmd/leakgate/internal/compare", []string{"internal/verdict", "cmd/leakgate/internal/outcome"}},
	{"cmd/leakgate/internal/present", []string{
		"cmd/leakgate/internal/cli", "cmd/leakgate/internal/compare", "cmd/leakgate/internal/gotest", "cmd/leakgate/internal/outcome",
		"internal/textfmt", "internal/verdict",
	}},
	{"cmd/leakgate/internal/page", []string{"cmd/leakgate/internal/artifacts", "cmd/leakgate/internal/cli", "refscan", "refscan/scanreport", "internal/pprofwire", "internal/symbol", "internal/textfmt", "internal/verdict", "internal/wholefile", "cmd/leakgate/internal/outcome"}},
	{"cmd/leakgate/leakvet", []string{"golden", "internal/textfmt", "cmd/leakgate/internal/goldenset"}},
	{"cmd/leakgate/leakvet/golangcilint", []string{"cmd/leakgate/leakvet"}},
	// what sub-commands have in common, and sub-commands that need nothing of a run
	{"cmd/leakgate/internal/cli", []string{"internal/textfmt", "internal/wholefile"}},
	{"cmd/leakgate/internal/allocrun", []string{
		"cmd/leakgate/internal/cli", "cmd/leakgate/internal/gotest", "cmd/leakgate/internal/native/dump", "cmd/leakgate/internal/native/symbolize",
		"internal/alloccode", "internal/alloctrace", "internal/symbol", "internal/textfmt", "refscan/foreign",
	}},
	{"cmd/leakgate/internal/command/repeat", []string{
		"cmd/leakgate/internal/artifacts", "cmd/leakgate/internal/cli", "cmd/leakgate/internal/compare", "cmd/leakgate/internal/gotest",
		"cmd/leakgate/internal/outcome", "cmd/leakgate/internal/page", "cmd/leakgate/internal/present", "internal/envvar", "internal/procfs", "internal/textfmt", "leakcheck", "refscan", "refscan/scanreport",
	}},
	{"cmd/leakgate/internal/command/alloc", []string{
		"cmd/leakgate/internal/allocrun", "cmd/leakgate/internal/artifacts", "cmd/leakgate/internal/cli", "cmd/leakgate/internal/compare",
		"cmd/leakgate/internal/gotest", "cmd/leakgate/internal/outcome",
		"cmd/leakgate/internal/present", "cmd/leakgate/internal/revision", "internal/symbol", "internal/textfmt", "internal/verdict", "refscan/foreign",
	}},
	{"cmd/leakgate/internal/command/results", []string{
		"cmd/leakgate/internal/artifacts", "cmd/leakgate/internal/cli", "cmd/leakgate/internal/compare",
		"cmd/leakgate/internal/native/dump", "cmd/leakgate/internal/outcome", "cmd/leakgate/internal/page", "cmd/leakgate/internal/present",
		"internal/symbol", "internal/textfmt", "internal/verdict", "internal/wholefile", "refscan",
	}},
	{"cmd/leakgate/internal/command/doctor", []string{
		"cmd/leakgate/internal/auto/workspace", "cmd/leakgate/internal/cli", "cmd/leakgate/internal/command/doctor/program",
		"cmd/leakgate/internal/gotest", "cmd/leakgate/internal/present", "internal/engine/memory/headroom", "internal/envvar", "internal/textfmt",
	}},
	{"cmd/leakgate/internal/command/goldenfile", []string{
		"internal/wholefile", "cmd/leakgate/internal/artifacts", "cmd/leakgate/internal/cli", "cmd/leakgate/internal/gotest", "cmd/leakgate/internal/goldenset",
		"cmd/leakgate/internal/outcome", "cmd/leakgate/internal/present", "golden",
	}},
	{"cmd/leakgate/internal/command/process", []string{
		"cmd/leakgate/internal/cli", "internal/spikerule", "internal/textfmt", "refscan", "refscan/foreign", "refscan/scanreport",
	}},
	{"cmd/leakgate/internal/native/dump", []string{"cmd/leakgate/internal/cli", "internal/engine/symbols/objfile", "internal/wholefile"}},
	{"cmd/leakgate/internal/native/symbolize", []string{"cmd/leakgate/internal/native/dump", "internal/wholefile"}},
	{"cmd/leakgate/internal/native/callrecord", []string{
		"cmd/leakgate/internal/gotest", "cmd/leakgate/internal/native/dump", "cmd/leakgate/internal/native/symbolize",
		"internal/engine/native/nativecalls", "internal/engine/symbols/debuginfo", "internal/engine/symbols/objfile",
		"internal/envvar", "internal/verdict", "internal/symbol", "internal/textfmt", "internal/wholefile",
	}},
	{"cmd/leakgate/internal/command/symbolize", []string{
		"cmd/leakgate/internal/cli",
		"cmd/leakgate/internal/native/dump", "cmd/leakgate/internal/native/symbolize",
		"cmd/leakgate/internal/page",
	}},
	{"cmd/leakgate/internal/command/runtests", []string{
		"cmd/leakgate/internal/artifacts", "cmd/leakgate/internal/auto/drive", "cmd/leakgate/internal/auto/finding",
		"cmd/leakgate/internal/auto/source", "cmd/leakgate/internal/auto/workspace", "cmd/leakgate/internal/cli", "cmd/leakgate/internal/compare",
		"cmd/leakgate/internal/goldenset",
		"cmd/leakgate/internal/gotest", "cmd/leakgate/internal/isolate", "cmd/leakgate/internal/native/callrecord", "cmd/leakgate/internal/outcome",
		"cmd/leakgate/internal/page", "cmd/leakgate/internal/present", "cmd/leakgate/internal/revision", "golden", "internal/engine/memory/headroom", "internal/envvar",
		"internal/symbol", "internal/textfmt", "internal/verdict",
	}},
	{"cmd/leakgate/internal/command/vet", []string{"cmd/leakgate/internal/cli", "cmd/leakgate/internal/gotest", "cmd/leakgate/leakvet"}},
	{"cmd/leakgate", []string{"..."}},

	{"internal/policy", nil},
	{"internal/tests/judges", nil},
	{"internal/tests/memory", nil},
	{"internal/tests/native", nil},
	{"internal/tests/page", nil},
	{"internal/tests/release", nil},
	{"internal/tests/tables", []string{"refscan", "internal/wholefile"}}, // a command that writes documents
}

func TestLayers(t *testing.T) {
	may := make(map[string][]string)
	for _, l := range layers {
		may[l.folder] = l.may
	}
	found := make(map[string]bool)
	for _, p := range platforms {
		for _, line := range goLines(t, p, "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...", "./cmd/leakgate/...", "./internal/tests/...") {
			packages := strings.Fields(line)
			folder := strings.TrimPrefix(packages[0], modulePath+"/")
			row := rowOf(folder)
			found[row] = true
			allowed, listed := may[row]
			if row != folder {
				allowed = append(slices.Clip(allowed), row+"/...")
			}
			if !listed {
				t.Errorf("%s has no place in the table of layers: decide what it may import", folder)
				continue
			}
			for _, imported := range packages[1:] {
				imported, ours := strings.CutPrefix(imported, modulePath+"/")
				if ours && !slices.ContainsFunc(allowed, func(pattern string) bool { return covers(pattern, imported) }) {
					t.Errorf("%s: %s imports %s, which is not below it", p, folder, imported)
				}
			}
		}
	}
	for _, l := range layers {
		if !found[l.folder] {
			t.Errorf("there is no package %s: take it out of the table", l.folder)
		}
	}
}

// rowOf returns the folder whose row a package has: its wing, if it is in one.
func rowOf(folder string) string {
	const engine, testkit = "internal/engine/", "internal/testkit"
	if below, ok := strings.CutPrefix(folder, engine); ok {
		wing, _, _ := strings.Cut(below, "/")
		return engine + wing
	}
	if strings.HasPrefix(folder, testkit+"/") {
		return testkit
	}
	return folder
}

func covers(pattern, folder string) bool {
	if pattern == "..." {
		return true
	}
	if parent, ok := strings.CutSuffix(pattern, "/..."); ok {
		return strings.HasPrefix(folder, parent+"/")
	}
	return path.Clean(pattern) == folder
}
