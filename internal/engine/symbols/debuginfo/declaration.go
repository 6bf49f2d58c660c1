package debuginfo

import (
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// findDeclaration returns the file of a package for which lineIn returns a line, and that line, ""
// and 0 if there is none. files are the compiler's names of the files that functions of the package
// come from; find returns the path of a file whose name is not absolute. It reads the package's
// files until one has the line, at worst all of them.
func findDeclaration(files []string, find func(string) string, lineIn func(src []byte) int) (file string, line int) {
	// Files with functions in the program were compiled for certain; others may be for another
	// system.
	var candidates, others []string
	folders := make(map[string]bool)
	for _, f := range files {
		if !filepath.IsAbs(f) && !strings.HasPrefix(f, "/") { // "/": also on Windows, if built elsewhere
			f = find(f)
		}
		if f == "" || slices.Contains(candidates, f) {
			continue
		}
		candidates = append(candidates, f)
		folders[filepath.Dir(f)] = true
	}
	for dir := range folders {
		for _, name := range filesIn(dir) {
			if strings.HasSuffix(name, ".go") {
				others = append(others, filepath.Join(dir, name))
			}
		}
	}
	sort.Strings(others)
	seen := make(map[string]bool)
	for _, f := range append(candidates, others...) {
		if seen[f] {
			continue
		}
		seen[f] = true
		src, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		if line := lineIn(src); line > 0 {
			return f, line
		}
	}
	return "", 0
}

// filesIn returns the names in a folder, unsorted; none if the folder cannot be read.
func filesIn(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	return names
}
