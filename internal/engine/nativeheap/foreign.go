package nativeheap

import (
	"path"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/objfile"
	"github.com/leakgate/leakgate/internal/engine/objfile/native"
)

// allocators are libraries that take malloc's place, by how their files' names begin.
var allocators = []struct{ file, name string }{
	{"libjemalloc", "jemalloc"},
	{"libtcmalloc", "tcmalloc"},
	{"libmimalloc", "mimalloc"},
	{"libsnmalloc", "snmalloc"},
	{"libhoard", "Hoard"},
	{"libscudo", "Scudo"},
	{"libasan", "AddressSanitizer's"},
	{"libmsan", "MemorySanitizer's"},
}

const remedyAllocator = "count what it has by its own means, or run the test with glibc's malloc"

// recorder is how the name of the library begins that leakgate run -native preloads, whose malloc calls
// the one that it stands in front of.
const recorder = "libleakgate-native"

// replaced returns an *UnknownError if the program or a library of it has a malloc of its own: C code
// calls that one then, and not glibc's, whose heap says nothing of what it has. The linker exports a
// program's malloc for the sake of libraries. A program that has the C library in it has one of the two.
func (w *walk) replaced() error {
	if w.dataOf(isLibrary) == nil {
		return nil
	}
	seen := make(map[string]bool)
	for i := range w.areas {
		file := w.areas[i].Name
		if seen[file] || !w.areas[i].Writable || !strings.HasPrefix(file, "/") || isLibrary(file) || isLoader(file) || strings.HasPrefix(path.Base(file), recorder) {
			continue
		}
		seen[file] = true
		switch {
		case !definesMalloc(file):
		case file == w.places.program:
			return &UnknownError{"malloc is the program's own", remedyAllocator}
		default:
			return &UnknownError{"malloc is that of " + path.Base(file), remedyAllocator}
		}
	}
	return nil
}

// definesMalloc reports whether a file exports a malloc. A file that is gone tells nothing.
func definesMalloc(file string) bool {
	x, err := native.Open(file)
	if err != nil {
		return false
	}
	defer x.Close()
	return x.Exports != nil && slices.ContainsFunc(x.Exports(), func(s objfile.Symbol) bool { return s.Name == "malloc" })
}
