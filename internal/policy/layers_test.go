package policy

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// layers says which packages of this repository a package may import, tests aside. Layers point one
// way: memory image, runtime model, object graph, report, verdict, presentation. A name with /...
// stands for what is below it.
var layers = []struct {
	folder string
	may    []string
}{
	{"refscan/internal/image", nil},
	// for tests only
	{"refscan/internal/imagetest", []string{"refscan/internal/image", "refscan/internal/debuginfo", "refscan/internal/goruntime"}},
	{"refscan/internal/debuginfo/program", nil}, // what a compiler knows of a program, as data
	{"refscan/internal/debuginfo/elffile", nil},
	{"refscan/internal/debuginfo/dwarfread", []string{
		"refscan/internal/debuginfo/program", "refscan/internal/debuginfo/elffile", "refscan/internal/parallel", "internal/symbol",
	}},
	{"refscan/internal/debuginfo/symindex", []string{"refscan/internal/debuginfo/program"}},
	{"refscan/internal/debuginfo/indexcache", []string{
		"refscan/internal/debuginfo/symindex", "refscan/internal/remedy", "internal/envvar", "internal/filelock", "internal/wholefile",
	}},
	{"refscan/internal/debuginfo/sameprogram", []string{"refscan/internal/debuginfo/elffile"}},
	{"refscan/internal/debuginfo/twin", []string{"refscan/internal/remedy", "internal/filelock"}},
	{"refscan/internal/debuginfo/gosource", nil},
	{"refscan/internal/debuginfo", []string{ // the door
		"refscan/internal/debuginfo/program", "refscan/internal/debuginfo/elffile", "refscan/internal/debuginfo/dwarfread",
		"refscan/internal/debuginfo/symindex", "refscan/internal/debuginfo/indexcache", "refscan/internal/debuginfo/sameprogram",
		"refscan/internal/debuginfo/twin", "refscan/internal/debuginfo/gosource", "refscan/internal/remedy",
		"refscan/internal/headroom",
	}},
	// for tests only
	{"refscan/internal/debuginfo/progtest", []string{"refscan/internal/debuginfo/program", "refscan/internal/debuginfo/symindex", "internal/require"}},
	{"refscan/internal/remedy", nil},      // what to do about a refused system call
	{"refscan/internal/seccomptest", nil}, // for tests only
	{"refscan/internal/headroom", nil},    // how much memory there is
	{"refscan/internal/freeze", []string{"refscan/internal/image", "refscan/internal/headroom", "refscan/internal/remedy"}},
	{"refscan/internal/goruntime", []string{"refscan/internal/image", "refscan/internal/debuginfo"}},
	{"refscan/internal/reach", []string{"refscan/internal/debuginfo"}},
	{"refscan/internal/execfile", []string{"refscan/internal/image", "refscan/internal/debuginfo/elffile"}},
	{"refscan/internal/registers", []string{"refscan/internal/goruntime"}},
	{"refscan/internal/corefile", []string{"refscan/internal/image", "refscan/internal/execfile", "refscan/internal/registers", "refscan/internal/goruntime"}},
	{"refscan/internal/attach", []string{"refscan/internal/image", "refscan/internal/registers", "refscan/internal/goruntime"}},
	{"refscan/internal/offheap", []string{"refscan/internal/headroom", "refscan/internal/remedy"}},
	{"refscan/internal/newborn", []string{"refscan/internal/debuginfo", "refscan/internal/offheap"}},
	{"refscan/internal/objset", nil},
	{"refscan/internal/parallel", nil},
	{"refscan/internal/dominance", []string{"refscan/internal/objset", "refscan/internal/offheap"}},
	{"refscan/internal/heaptype", []string{"refscan/internal/debuginfo", "refscan/internal/goruntime", "internal/symbol"}},
	{"refscan/internal/typing", []string{"refscan/internal/heaptype", "refscan/internal/goruntime", "refscan/internal/offheap"}},
	{"refscan/internal/ended", []string{"refscan/internal/typing", "refscan/internal/heaptype", "refscan/internal/goruntime"}},
	{"refscan/internal/timer", []string{"refscan/internal/goruntime", "refscan/internal/heaptype", "internal/symbol"}},
	{"refscan/internal/dataseg", []string{"refscan/internal/debuginfo", "refscan/internal/goruntime", "refscan/internal/heaptype", "refscan/internal/typing"}},
	{"refscan/internal/live", []string{"refscan/internal/goruntime", "refscan/internal/heaptype", "refscan/internal/objset", "refscan/internal/offheap", "refscan/internal/parallel", "refscan/internal/dataseg"}},
	{"refscan/internal/stackvar", []string{"refscan/internal/debuginfo", "refscan/internal/goruntime", "refscan/internal/heaptype", "refscan/internal/live"}},
	{"refscan/internal/infer", []string{"refscan/internal/goruntime", "refscan/internal/heaptype", "refscan/internal/typing", "refscan/internal/objset", "refscan/internal/parallel", "refscan/internal/dataseg", "refscan/internal/live", "refscan/internal/timer", "refscan/internal/stackvar"}},
	{"refscan/internal/typedheap", []string{"refscan/internal/objset", "refscan/internal/goruntime", "refscan/internal/heaptype", "refscan/internal/typing", "refscan/internal/parallel", "refscan/internal/dataseg", "refscan/internal/live", "refscan/internal/timer", "refscan/internal/stackvar", "refscan/internal/infer"}},
	// for tests only
	{"refscan/internal/typedheap/heaptest", []string{"internal/require", "refscan/internal/imagetest", "refscan/internal/typedheap"}},
	{"refscan/internal/root", []string{"refscan/internal/goruntime", "refscan/internal/heaptype", "refscan/internal/typing", "refscan/internal/dataseg", "refscan/internal/live", "refscan/internal/timer", "refscan/internal/stackvar", "refscan/internal/typedheap", "internal/symbol"}},
	{"refscan/internal/attribute", []string{"refscan/internal/goruntime", "refscan/internal/heaptype", "refscan/internal/typing", "refscan/internal/ended", "refscan/internal/objset", "refscan/internal/offheap", "refscan/internal/parallel", "refscan/internal/typedheap", "refscan/internal/root"}},
	{"refscan/internal/retain", []string{"refscan/internal/goruntime", "refscan/internal/heaptype", "refscan/internal/objset", "refscan/internal/offheap", "refscan/internal/parallel", "refscan/internal/dominance", "refscan/internal/dataseg", "refscan/internal/typedheap", "refscan/internal/root", "refscan/internal/attribute", "internal/symbol"}},
	{"refscan/internal/pathfind", []string{"refscan/internal/heaptype", "refscan/internal/typing", "refscan/internal/ended", "refscan/internal/objset", "refscan/internal/offheap", "refscan/internal/timer", "refscan/internal/typedheap", "refscan/internal/root"}},
	// of all that: only tests import it
	{"refscan/internal/judge", []string{"refscan/internal/goruntime", "refscan/internal/debuginfo"}},
	{"refscan/internal/nameless", []string{"refscan/internal/image", "refscan/internal/debuginfo"}},
	// for tests and go generate only
	{"refscan/internal/nameless/layouts", []string{"refscan/internal/debuginfo"}},
	{"refscan/internal/nameless/gen", []string{"refscan/internal/nameless/layouts", "internal/wholefile"}},
	{"internal/pprofwire", nil}, // encoders: they know nothing of what they write
	{"internal/plainjson", nil},
	{"internal/filelock", nil},
	{"internal/wholefile", []string{"internal/filelock"}}, // what others would write in each layer
	// numbers and lines for people, in messages and on terminals
	{"internal/textfmt", nil},
	{"internal/editdistance", nil},
	{"internal/symbol", nil}, // what names say: all layers ask
	{"refscan", []string{"refscan/internal/...", "internal/pprofwire", "internal/symbol"}},
	// the command alone imports it: see TestForeign
	{"refscan/foreign", []string{"refscan", "refscan/internal/...", "internal/symbol"}},
	{"internal/functable", nil},
	{"stackprof", []string{"refscan", "internal/functable", "internal/pprofwire"}},
	{"refscan/internal/accuracy", []string{"refscan", "internal/wholefile"}}, // a command
	// a command: it runs benchmarks
	{"refscan/internal/performance", []string{"internal/wholefile"}},
	{"stackprof/stackhttp", []string{"stackprof", "refscan"}},

	{"golden", []string{"internal/wholefile"}}, // a file format: it knows nothing of heaps
	{"internal/verdict", []string{"refscan"}},
	{"internal/envvar", nil}, // what the environment says: all layers ask
	{"leakcheck/internal/naming", []string{"internal/editdistance", "internal/symbol", "refscan"}},
	{"leakcheck/internal/environ", []string{
		"internal/envvar", "internal/symbol", "leakcheck/internal/naming", "refscan",
	}},
	{"leakcheck/internal/observe", []string{"internal/symbol", "leakcheck/internal/naming", "internal/textfmt", "refscan"}},
	{"leakcheck/internal/artifact", []string{
		"golden", "internal/envvar", "internal/plainjson", "internal/verdict", "internal/wholefile",
		"leakcheck/internal/environ", "leakcheck/internal/observe", "refscan", "stackprof",
	}},
	{"leakcheck/internal/goldenline", []string{"golden"}},
	{"leakcheck/internal/goroutine", []string{
		"golden", "internal/symbol", "leakcheck/internal/goldenline", "leakcheck/internal/naming", "refscan",
	}},
	{"leakcheck/internal/tree", []string{
		"golden", "internal/symbol", "leakcheck/internal/environ", "leakcheck/internal/naming",
		"internal/textfmt", "refscan",
	}},
	{"leakcheck/internal/request", []string{
		"internal/symbol", "leakcheck/internal/environ", "leakcheck/internal/goroutine", "leakcheck/internal/naming",
		"leakcheck/internal/tree", "refscan",
	}},
	{"leakcheck/internal/check", []string{
		"internal/symbol", "golden", "internal/verdict", "leakcheck/internal/goroutine", "leakcheck/internal/naming",
		"leakcheck/internal/observe", "leakcheck/internal/request", "leakcheck/internal/tree", "refscan",
	}},
	{"leakcheck/internal/check/bounds", []string{
		"internal/verdict", "leakcheck/internal/check", "leakcheck/internal/environ", "leakcheck/internal/observe",
		"leakcheck/internal/request", "internal/textfmt", "leakcheck/internal/tree", "refscan",
	}},
	{"leakcheck/internal/check/goroutines", []string{
		"internal/symbol", "golden", "internal/verdict", "leakcheck/internal/check", "leakcheck/internal/goldenline",
		"leakcheck/internal/goroutine", "leakcheck/internal/naming", "leakcheck/internal/observe",
		"leakcheck/internal/request", "internal/textfmt", "refscan",
	}},
	{"leakcheck/internal/check/goldenfile", []string{
		"golden", "internal/symbol", "internal/verdict", "leakcheck/internal/check", "leakcheck/internal/check/goroutines",
		"leakcheck/internal/environ", "leakcheck/internal/goldenline", "leakcheck/internal/goroutine",
		"leakcheck/internal/naming", "leakcheck/internal/observe", "leakcheck/internal/request",
		"internal/textfmt", "leakcheck/internal/tree",
	}},
	{"leakcheck/internal/message", []string{
		"golden", "internal/symbol", "leakcheck/internal/check", "leakcheck/internal/check/goldenfile",
		"leakcheck/internal/environ", "leakcheck/internal/goroutine", "leakcheck/internal/naming",
		"leakcheck/internal/observe", "internal/textfmt", "leakcheck/internal/tree", "refscan",
	}},
	{"leakcheck/internal/assertion", []string{
		"internal/symbol", "golden", "internal/verdict", "leakcheck/internal/artifact", "leakcheck/internal/check",
		"leakcheck/internal/check/bounds", "leakcheck/internal/check/goldenfile", "leakcheck/internal/check/goroutines",
		"leakcheck/internal/environ", "leakcheck/internal/goroutine", "leakcheck/internal/message",
		"leakcheck/internal/naming", "leakcheck/internal/observe", "leakcheck/internal/request",
		"internal/textfmt", "leakcheck/internal/tree", "refscan",
	}},
	{"leakcheck/internal/collected", []string{
		"internal/symbol", "internal/verdict", "leakcheck/internal/assertion", "leakcheck/internal/environ", "leakcheck/internal/message",
		"leakcheck/internal/naming", "leakcheck/internal/observe", "leakcheck/internal/request",
		"internal/textfmt", "leakcheck/internal/tree", "refscan",
	}},
	{"leakcheck/internal/growth", []string{
		"internal/symbol", "internal/verdict", "leakcheck/internal/assertion", "leakcheck/internal/check", "leakcheck/internal/environ",
		"leakcheck/internal/goroutine", "leakcheck/internal/message", "leakcheck/internal/naming",
		"leakcheck/internal/observe", "leakcheck/internal/request", "internal/textfmt",
		"leakcheck/internal/tree", "refscan",
	}},
	{"internal/alloctrace", nil},
	{"leakcheck/internal/alloc", []string{
		"internal/alloctrace", "internal/verdict", "leakcheck/internal/assertion", "leakcheck/internal/check", "leakcheck/internal/environ",
		"leakcheck/internal/message", "leakcheck/internal/naming", "leakcheck/internal/observe", "leakcheck/internal/request",
		"internal/textfmt", "leakcheck/internal/tree", "refscan",
	}},
	{"leakcheck", []string{"leakcheck/internal/...", "internal/verdict"}},

	{"github.com/leakgate/leakgate", nil},                                           // the sources, for -auto
	{"cmd/leakgate/internal/auto/repeat", []string{"internal/envvar", "leakcheck"}}, // linked into tests
	{"cmd/leakgate/internal/auto/plan", nil},
	{"cmd/leakgate/internal/auto/workspace", []string{
		"cmd/leakgate/internal/auto/plan", "cmd/leakgate/internal/auto/repeat", "cmd/leakgate/internal/auto/tick", "internal/envvar", "internal/filelock", "internal/wholefile",
	}},
	{"cmd/leakgate/internal/auto/drive", []string{
		"cmd/leakgate/internal/auto/repeat", "cmd/leakgate/internal/gotest", "internal/envvar", "internal/verdict",
	}},
	{"cmd/leakgate/internal/auto/suppress", nil},
	{"cmd/leakgate/internal/auto/tick", nil},
	{"cmd/leakgate/internal/auto/closer", nil},
	{"cmd/leakgate/internal/auto/leftover", nil},
	{"cmd/leakgate/internal/auto/judge", []string{"internal/symbol", "internal/verdict"}},
	{"cmd/leakgate/internal/auto/finding", []string{
		"cmd/leakgate/internal/auto/drive", "cmd/leakgate/internal/auto/judge", "cmd/leakgate/internal/auto/repeat",
		"cmd/leakgate/internal/auto/suppress", "internal/verdict",
	}},
	{"cmd/leakgate/internal/artifacts", []string{"internal/symbol", "internal/verdict", "internal/wholefile"}},
	{"cmd/leakgate/internal/discover", nil},
	{"cmd/leakgate/internal/goldens", []string{"golden", "internal/verdict", "cmd/leakgate/internal/discover", "cmd/leakgate/internal/outcome"}},
	{"cmd/leakgate/internal/goldenset", []string{"golden"}},
	{"cmd/leakgate/internal/gotest", nil},
	{"cmd/leakgate/internal/manual", nil},
	{"cmd/leakgate/internal/revision", nil},
	{"cmd/leakgate/internal/pullrequest", nil},
	{"cmd/leakgate/internal/flamegraph", nil},
	{"cmd/leakgate/internal/stackfile", []string{"stackprof", "internal/functable"}},
	{"cmd/leakgate/internal/outcome", []string{"internal/verdict", "cmd/leakgate/internal/artifacts", "cmd/leakgate/internal/gotest"}},
	{"cmd/leakgate/internal/scanreport", []string{"refscan", "internal/textfmt", "internal/wholefile"}},
	{"cmd/leakgate/internal/compare", []string{"internal/verdict", "cmd/leakgate/internal/outcome"}},
	{"cmd/leakgate/internal/present", []string{"internal/verdict", "cmd/leakgate/internal/compare", "cmd/leakgate/internal/gotest", "cmd/leakgate/internal/outcome"}},
	{"cmd/leakgate/internal/page", []string{"refscan", "internal/symbol", "internal/verdict", "cmd/leakgate/internal/outcome"}},
	{"cmd/leakgate/leakvet", []string{"golden", "internal/editdistance", "cmd/leakgate/internal/goldens"}},
	{"cmd/leakgate/leakvet/golangcilint", []string{"cmd/leakgate/leakvet"}},
	{"cmd/leakgate", []string{"..."}},

	{"internal/policy", nil},
	{"internal/pproftest", nil}, // for tests only, as the next two
	{"internal/assert", nil},
	{"internal/require", []string{"internal/assert"}},
	{"internal/tests/assert", nil},
	{"internal/tests/delve", nil},
	{"internal/tests/golden", nil},
	{"internal/tests/page", nil},
	{"internal/tests/pprof", nil},
	{"internal/tests/release", nil},
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
			found[folder] = true
			allowed, listed := may[folder]
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

func covers(pattern, folder string) bool {
	if pattern == "..." {
		return true
	}
	if parent, ok := strings.CutSuffix(pattern, "/..."); ok {
		return strings.HasPrefix(folder, parent+"/")
	}
	return path.Clean(pattern) == folder
}
