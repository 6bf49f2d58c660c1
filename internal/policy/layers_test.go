package policy

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// layers says which packages of this module a package may import, tests aside. Layers point one way: memory image,
// runtime model, object graph, report, verdict, presentation. A name with /... stands for what is below it.
var layers = []struct {
	folder string
	may    []string
}{
	{"refscan/internal/image", []string{"internal/fmterr"}},
	{"refscan/internal/imagetest", []string{"refscan/internal/image", "refscan/internal/debuginfo", "refscan/internal/goruntime"}}, // for tests only
	{"refscan/internal/debuginfo/twin", []string{"internal/fmterr"}},
	{"refscan/internal/debuginfo", []string{"refscan/internal/debuginfo/twin", "internal/fmterr", "internal/wholefile"}},
	{"refscan/internal/freeze", []string{"refscan/internal/image", "internal/fmterr"}},
	{"refscan/internal/goruntime", []string{"refscan/internal/image", "refscan/internal/debuginfo", "internal/fmterr"}},
	{"refscan/internal/offheap", nil},
	{"refscan/internal/heapgraph", []string{"refscan/internal/image", "refscan/internal/debuginfo", "refscan/internal/goruntime", "internal/fmterr", "refscan/internal/offheap"}},
	{"refscan/internal/judge", []string{"refscan/internal/goruntime", "refscan/internal/debuginfo"}}, // of heapgraph: only tests import it
	{"refscan/internal/nameless", []string{"refscan/internal/image", "refscan/internal/debuginfo", "internal/fmterr"}},
	{"refscan/internal/nameless/layouts", []string{"refscan/internal/debuginfo"}}, // for tests and go generate only
	{"refscan/internal/nameless/gen", []string{"refscan/internal/nameless/layouts", "internal/wholefile"}},
	{"internal/pprofwire", nil}, // encoders: they know nothing of what they write
	{"internal/plainjson", []string{"internal/fmterr"}},
	{"internal/wholefile", nil}, // what others would write in each layer
	{"internal/fmterr", nil},
	{"refscan", []string{"refscan/internal/...", "internal/pprofwire"}},
	{"stackprof/internal/functable", nil},
	{"stackprof", []string{"refscan", "stackprof/internal/functable", "internal/pprofwire"}},
	{"refscan/internal/accuracy", []string{"refscan", "internal/wholefile"}}, // a command
	{"refscan/internal/performance", []string{"internal/wholefile"}},         // a command: it runs benchmarks
	{"stackprof/stackhttp", []string{"stackprof", "refscan"}},
	{"stackprof/stackfile", []string{"stackprof", "stackprof/internal/functable"}},

	{"golden", []string{"internal/fmterr", "internal/wholefile"}}, // a file format: it knows nothing of heaps
	{"internal/verdict", []string{"refscan"}},
	{"leakcheck", []string{"stackprof", // with the tag leakgate
		"refscan", "golden", "internal/verdict", "internal/plainjson", "internal/fmterr", "internal/wholefile"}},

	{"cmd/leakgate/internal/artifacts", []string{"internal/verdict", "internal/wholefile"}},
	{"cmd/leakgate/internal/discover", nil},
	{"cmd/leakgate/internal/goldens", []string{"golden", "internal/verdict", "cmd/leakgate/internal/discover", "cmd/leakgate/internal/outcome"}},
	{"cmd/leakgate/internal/goldenset", []string{"golden"}},
	{"cmd/leakgate/internal/gotest", nil},
	{"cmd/leakgate/internal/manual", nil},
	{"cmd/leakgate/internal/revision", nil},
	{"cmd/leakgate/internal/flamegraph", nil},
	{"cmd/leakgate/internal/outcome", []string{"internal/verdict", "cmd/leakgate/internal/artifacts", "cmd/leakgate/internal/gotest"}},
	{"cmd/leakgate/internal/compare", []string{"internal/verdict", "cmd/leakgate/internal/outcome"}},
	{"cmd/leakgate/internal/present", []string{"internal/verdict", "cmd/leakgate/internal/compare", "cmd/leakgate/internal/gotest", "cmd/leakgate/internal/outcome"}},
	{"cmd/leakgate/leakvet", []string{"golden", "cmd/leakgate/internal/goldens"}},
	{"cmd/leakgate/leakvet/golangcilint", []string{"cmd/leakgate/leakvet"}},
	{"cmd/leakgate", []string{"..."}},

	{"internal/policy", nil},
}

func TestLayers(t *testing.T) {
	may := make(map[string][]string)
	for _, l := range layers {
		may[l.folder] = l.may
	}
	found := make(map[string]bool)
	for _, p := range platforms {
		for _, line := range goLines(t, p, "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...") {
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
