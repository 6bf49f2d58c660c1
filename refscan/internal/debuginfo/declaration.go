package debuginfo

import (
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/refscan/internal/debuginfo/twin"
)

// Declaration finds the file and line that declare a package variable, "" and 0 if they cannot be found. The linker writes no
// position of variables (go1.26 and 1.27 cmd/internal/dwarf/dwarf.go, DW_ABRV_VARIABLE), so this looks into the
// package's source, where the compiler's file names say it is. It reads the package's files, about a millisecond for ten: for
// failure messages, not for every root.
//
// With -trimpath the names are not those of files; then only packages of the module under test are found, and only in a test that
// was started in its package's folder, as go test does.
func (x *Index) Declaration(g Global) (file string, line int) {
	return x.declaration(g, twin.SourceFile)
}

// declaration does so with a function that finds a file by the compiler's name for it.
func (x *Index) declaration(g Global, find func(string) string) (file string, line int) {
	name, ok := strings.CutPrefix(g.Name, g.Package+".")
	if !ok || g.Package == "" || name == "" || strings.Contains(name, ".") {
		return "", 0
	}
	// Files with functions in the program were compiled for certain; others may be for another system.
	var candidates, others []string
	folders := make(map[string]bool)
	for _, f := range x.sourceFiles(g.Package) {
		if !filepath.IsAbs(f) {
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
		if line := variableLine(src, name); line > 0 {
			return f, line
		}
	}
	return "", 0
}

// filesIn lists a folder in any order; what cannot be listed is empty.
func filesIn(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	return names
}

// sourceFiles lists the files that a package's functions come from, sorted.
func (x *Index) sourceFiles(pkg string) []string {
	var files []string
	seen := make(map[uint32]bool)
	for i := range x.count(tableFuncs) {
		r := x.record(tableFuncs, i)
		if f := u32(r, 20); f != 0 && !seen[f] && x.str(u32(r, 16)) == pkg {
			seen[f] = true
			files = append(files, x.str(f))
		}
	}
	sort.Strings(files)
	return files
}
