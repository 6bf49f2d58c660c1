package symindex

import (
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// SourceFiles returns the files that a package's functions come from, sorted. Some functions come
// from another package's folder: those that a linkname names after the package, such as
// syscall.runtime_envs of runtime/runtime.go, and closures inlined from elsewhere. So SourceFiles
// drops the files in folders where another package has more functions.
func (x *Index) SourceFiles(pkg string) []string {
	var files []string
	seen := make(map[uint32]bool)
	for i := range x.count(tableFuncs) {
		r := x.record(tableFuncs, i)
		if f := u32(r, 20); f != 0 && !seen[f] && x.str(u32(r, 16)) == pkg {
			seen[f] = true
			files = append(files, x.str(f))
		}
	}
	folders := make(map[string]map[string]int) // number of functions by folder and package
	for _, f := range files {
		folders[filepath.Dir(f)] = make(map[string]int)
	}
	inFolder := make(map[uint32]map[string]int) // by file: the counts of its folder
	for i := range x.count(tableFuncs) {
		r := x.record(tableFuncs, i)
		f := u32(r, 20)
		counts, known := inFolder[f]
		if !known {
			counts = folders[filepath.Dir(x.str(f))]
			inFolder[f] = counts
		}
		if counts != nil {
			counts[strings.TrimSuffix(x.str(u32(r, 16)), "_test")]++
		}
	}
	files = slices.DeleteFunc(files, func(f string) bool {
		counts := folders[filepath.Dir(f)]
		for _, n := range counts {
			if n > counts[strings.TrimSuffix(pkg, "_test")] {
				return true
			}
		}
		return false
	})
	sort.Strings(files)
	return files
}
