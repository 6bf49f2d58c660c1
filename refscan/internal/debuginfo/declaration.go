package debuginfo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Declaration finds the file and line that declare a package variable, "" and 0 if they cannot be found. The linker writes no
// position of variables (go1.26 and 1.27 cmd/internal/dwarf/dwarf.go, DW_ABRV_VARIABLE), so this looks into the
// package's source, where the compiler's file names say it is. It reads the package's files, about a millisecond for ten: for
// failure messages, not for every root.
//
// With -trimpath the names are not those of files; then only packages in dirs, which maps import paths to folders and may be nil, are found.
func (x *Index) Declaration(g Global, dirs map[string]string) (file string, line int) {
	name, ok := strings.CutPrefix(g.Name, g.Package+".")
	if !ok || g.Package == "" || name == "" || strings.Contains(name, ".") {
		return "", 0
	}
	compiled := x.sourceFiles(g.Package)
	folders := make(map[string]bool)
	for _, f := range compiled {
		if filepath.IsAbs(f) {
			folders[filepath.Dir(f)] = true
		}
	}
	if dir := dirs[g.Package]; dir != "" {
		folders[dir] = true
	}
	// Files with functions in the program were compiled for certain; others may be for another system.
	candidates := slices.Clone(compiled)
	var others []string
	for dir := range folders {
		found, _ := filepath.Glob(filepath.Join(dir, "*.go"))
		others = append(others, found...)
	}
	slices.Sort(others)
	seen := make(map[string]bool)
	for _, f := range append(candidates, others...) {
		if seen[f] || !filepath.IsAbs(f) {
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
	slices.Sort(files)
	return files
}
