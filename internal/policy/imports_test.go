package policy

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// TestImports checks that the packages in users' test binaries come from this module and the
// standard library: any other module would be in users' go.mod and go.sum. Any part of the standard
// library is allowed: TestBinarySize measures what it costs.
func TestImports(t *testing.T) {
	for _, p := range platforms {
		t.Run(p.os+"-"+p.arch, func(t *testing.T) {
			args := []string{"list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}} {{join .Imports \" \"}}{{end}}"}
			for _, folder := range linked {
				args = append(args, "./"+folder)
			}
			ours := 0
			lines := goLines(t, p, args...)
			for _, line := range lines {
				if path, _, _ := strings.Cut(line, " "); strings.HasPrefix(path, modulePath+"/") {
					ours++
				} else {
					t.Errorf("test binaries would link %s, imported by %q", path, importers(lines, path))
				}
			}
			if ours < len(linked) {
				t.Errorf("go list names %d packages of ours", ours)
			}
		})
	}
}

// TestImportDoesNothing checks that importing our packages has no side effects: no garbage
// collection, no other rate of the memory profiler, no goroutine, and only flags with our own
// names. The same holds if artifacts are wanted.
func TestImportDoesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "importer")
	goLines(t, platform{runtime.GOOS, runtime.GOARCH}, "build", "-o", file, "./internal/policy/testdata/importer")
	for name, args := range map[string][]string{
		"plain":     nil,
		"artifacts": {"-test.artifacts", "-test.memprofilerate=1"}, // as go test passes them
	} {
		t.Run(name, func(t *testing.T) {
			c := exec.CommandContext(t.Context(), file, args...)
			c.Env = append(os.Environ(), "GOGC=off", "GODEBUG=")
			if name == "artifacts" {
				c.Env = append(c.Env, "LEAKGATE_ARTIFACTS="+t.TempDir())
			}
			out, err := c.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Equal(t, "0 collections, profile rate 524288, 1 goroutines, flags [leakcheck.update]\n", string(out))
		})
	}
}

// importers returns the packages that import path. Each line has a package, followed by its
// imports.
func importers(lines []string, path string) (by []string) {
	for _, line := range lines {
		if fields := strings.Fields(line); slices.Contains(fields[1:], path) {
			by = append(by, fields[0])
		}
	}
	return by
}
