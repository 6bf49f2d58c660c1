package examples

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLeaky runs every test of the leaky twins on its own, plainly, and expects it to fail for the
// right reason: the message names the root, where it comes from, and the type of what it holds, and
// the report beside it has all the roots.
func TestLeaky(t *testing.T) {
	each(t, func(t *testing.T, e example) {
		for test, wants := range e.fails {
			t.Run(test, func(t *testing.T) {
				t.Parallel()
				artifacts := t.TempDir()
				r := goTest(t, module(t, e, "leaky"), []string{"LEAKGATE_ARTIFACTS=" + artifacts}, "-count=1", "-run=^"+test+"$", ".")
				if r.passed {
					t.Fatalf("the leak went unnoticed:\n%s", r.output)
				}
				for _, want := range wants {
					if !strings.Contains(r.output, want) {
						t.Errorf("the message does not name %q", want)
					}
				}
				roots := reportedRoots(t, artifacts)
				for _, want := range e.roots {
					if !hasPrefix(roots, want) {
						t.Errorf("the report has no root %q", want)
					}
				}
				if t.Failed() {
					t.Logf("the message:\n%s", r.output)
				}
			})
		}
	})
}

// reportedRoots returns the names of the roots in the report.json of the one assertion that left
// its artifacts in dir.
func reportedRoots(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	reports := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "report.json" {
			return err
		}
		reports++
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var report struct {
			Roots []struct{ Name string }
		}
		if err := json.Unmarshal(content, &report); err != nil {
			return err
		}
		for _, root := range report.Roots {
			names = append(names, root.Name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if reports != 1 {
		t.Fatalf("found %d files report.json among the artifacts, want 1", reports)
	}
	return names
}

func hasPrefix(names []string, prefix string) bool {
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
