package policy

import (
	"slices"
	"strings"
	"testing"
)

// importPolicy lists all that linking leakcheck, golden and refscan adds to a test binary which imports
// only testing, besides packages of this module. Whatever is not in it costs every user build time and size, or drags a
// module into their go.sum. In particular there is no net, log, text/template, encoding/gob or reader
// for other systems' executables that anything of ours calls.
const importPolicy = `
	# Reading debug information out of an executable.
	hash/adler32        # of compressed sections

	# Keys of the index cache.
	encoding/hex
	hash/fnv

	maps
	runtime/metrics     # whether the heap is at rest; runtime.ReadMemStats would stop the world
	weak                # objects that are expected to be garbage
`

func TestImports(t *testing.T) {
	allowed := make(map[string]bool)
	for line := range strings.Lines(importPolicy) {
		line, _, _ = strings.Cut(line, "#")
		if path := strings.TrimSpace(line); path != "" {
			allowed[path] = true
		}
	}
	for _, p := range platforms {
		t.Run(p.os+"-"+p.arch, func(t *testing.T) {
			for path := range addedImports(t, p) {
				if !allowed[path] {
					t.Errorf("test binaries would link %s: drop the import, or decide and say why in importPolicy\n%s", path, importers(t, p, path))
				}
			}
		})
	}
}

// addedImports returns the packages outside this module that the linked packages need and an empty test binary does not.
func addedImports(t *testing.T, p platform) map[string]bool {
	t.Helper()
	args := []string{"list", "-deps", "-f", "{{.ImportPath}}"}
	for _, folder := range linked {
		args = append(args, "./"+folder)
	}
	added := make(map[string]bool)
	for _, path := range goLines(t, p, args...) {
		if !strings.HasPrefix(path, modulePath+"/") {
			added[path] = true
		}
	}
	for _, path := range goLines(t, p, "list", "-deps", "-test", "-f", "{{.ImportPath}}", "./internal/policy/testdata/size/empty") {
		delete(added, path)
	}
	return added
}

// importers says who of the linked packages imports path.
func importers(t *testing.T, p platform, path string) string {
	t.Helper()
	args := []string{"list", "-deps", "-f", `{{$p := .ImportPath}}{{range .Imports}}{{$p}} imports {{.}}{{"\n"}}{{end}}`}
	for _, folder := range linked {
		args = append(args, "./"+folder)
	}
	lines := goLines(t, p, args...)
	lines = slices.DeleteFunc(lines, func(line string) bool { return !strings.HasSuffix(line, " imports "+path) })
	return strings.Join(lines, "\n")
}
