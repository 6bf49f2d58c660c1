package policy

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
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

// TestWings checks that the table of wings names each package of the engine, and nothing else.
func TestWings(t *testing.T) {
	packages := make(map[string][]string) // by wing, each by its place below that
	for _, line := range goLines(t, platform{}, "list", "./internal/engine/...") {
		wing, name, _ := strings.Cut(strings.TrimPrefix(line, modulePath+"/internal/engine/"), "/")
		packages[wing] = append(packages[wing], name)
	}
	_, table, _ := strings.Cut(readFile(t, "doc/architecture.md"), "| wing | packages |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	named := regexp.MustCompile("`([^`]+)`")
	for _, row := range strings.Split(table, "\n") {
		cells := strings.SplitN(strings.Trim(row, "| "), " | ", 2)
		if len(cells) != 2 {
			t.Fatalf("doc/architecture.md: the table of wings has a row without packages: %q", row)
		}
		wing := cells[0]
		var names []string
		for _, m := range named.FindAllStringSubmatch(cells[1], -1) {
			names = append(names, m[1])
		}
		slices.Sort(names)
		if !slices.Equal(names, packages[wing]) {
			t.Errorf("doc/architecture.md names the packages %q of the wing %s, which has %q", names, wing, packages[wing])
		}
		delete(packages, wing)
	}
	for wing := range packages {
		t.Errorf("doc/architecture.md does not have the wing %s in its table", wing)
	}
}
