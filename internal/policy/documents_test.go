package policy

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ourPath is a file or folder of this repository in a document's code font.
var ourPath = regexp.MustCompile("`((?:cmd/leakgate|doc|examples|golden|internal/(?:policy|tests|verdict)|leakcheck|refscan|stackprof|\\.ci)/[^`\\s*<>]*)`")

// TestDocuments checks that the files of this repository that the documents name and link to exist.
func TestDocuments(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, file := range trackedFiles(t) {
		if !strings.HasSuffix(file, ".md") {
			continue
		}
		content := readFile(t, file)
		for _, m := range link.FindAllStringSubmatch(content, -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target != "" && !strings.Contains(target, "://") && !exists(path.Join(path.Dir(file), target)) {
				t.Errorf("%s links to %s, which is not there", file, target)
			}
		}
		if file == "CHANGELOG.md" {
			continue // it names files of the past
		}
		for _, m := range ourPath.FindAllStringSubmatch(content, -1) {
			if !exists(m[1]) {
				t.Errorf("%s names %s, which is not there", file, m[1])
			}
		}
	}
}

// exists takes a slash-separated path relative to the root.
func exists(file string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(file)))
	return err == nil
}
