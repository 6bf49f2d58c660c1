package nativeheap

import (
	"path"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile/native"
)

// allocators are libraries that replace malloc, by the prefixes of their file names.
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

// recorder is the prefix of the name of the library that leakgate run -native preloads. Its malloc
// calls the malloc that it stands in front of.
const recorder = "libleakgate-native"

// replaced returns an *UnknownError if the program or one of its libraries has a malloc of its own.
// Then C code calls that malloc, and glibc's heap tells nothing of its blocks. The linker exports a
// program's malloc for the sake of libraries. A program with the C library linked in has only one
// of the two mallocs.
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

// definesMalloc reports whether a file exports a malloc; false if the file is gone.
func definesMalloc(file string) bool {
	x, err := native.Open(file)
	if err != nil {
		return false
	}
	defer x.Close()
	return x.Exports != nil && slices.ContainsFunc(x.Exports(), func(s objfile.Symbol) bool { return s.Name == "malloc" })
}
