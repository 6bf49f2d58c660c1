package nativeholders

import (
	"os"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
	"github.com/leakgate/leakgate/internal/testkit/assert"
)

var page = uint64(os.Getpagesize())

// mapped is a search in a process with some mappings, each at so many pages.
func mapped(areas ...nativeheap.Area) *finder {
	f, _ := searching(0)
	for _, a := range areas {
		a.Start, a.End, a.Writable = a.Start*page, a.End*page, true
		f.native.Areas = append(f.native.Areas, a)
	}
	return f
}

func TestAreaOf(t *testing.T) {
	f := mapped(nativeheap.Area{Start: 2, End: 4, Name: "a"}, nativeheap.Area{Start: 4, End: 5, Name: "b"}, nativeheap.Area{Start: 8, End: 9, Name: "c"})
	for addr, want := range map[uint64]string{0: "", 2*page - 1: "", 2 * page: "a", 4*page - 1: "a", 4 * page: "b", 5 * page: "", 8 * page: "c", 9 * page: ""} {
		name := ""
		if a := f.areaOf(addr); a != nil {
			name = a.Name
		}
		assert.Equal(t, want, name, "%#x", addr)
	}
}

// The unnamed memory behind a file is the file's, too. Shared memory is no file.
func TestFileOf(t *testing.T) {
	f := mapped(
		nativeheap.Area{Start: 1, End: 2, Name: "/lib/libz.so"}, nativeheap.Area{Start: 2, End: 3}, nativeheap.Area{Start: 3, End: 4},
		nativeheap.Area{Start: 5, End: 6}, nativeheap.Area{Start: 6, End: 7, Name: "[heap]"}, nativeheap.Area{Start: 7, End: 8},
		nativeheap.Area{Start: 8, End: 9, Name: "/dev/shm/x"}, nativeheap.Area{Start: 9, End: 10},
	)
	var files []string
	for i := range f.native.Areas {
		files = append(files, f.fileOf(i))
	}
	assert.Equal(t, []string{"/lib/libz.so", "/lib/libz.so", "", "", "", "", "", ""}, files)

	for name, want := range map[string]bool{
		"/dev/zero": true, "/dev/shm/x": true, "/SYSV00000000": true, "/memfd:x": true, "/memfd:leakgate": false, "/lib/libz.so": false, "": false,
	} {
		assert.Equal(t, want, isSharedMemory(name), name)
	}
	for name, want := range map[string]bool{"/lib64/ld-linux-x86-64.so.2": true, "/lib/ld-linux-aarch64.so.1": true, "/lib/libc.so.6": false, "/ld-linux/libz.so": false} {
		assert.Equal(t, want, isLoader(name), name)
	}
}

// Behind the variables of a file, the same area may have the stack of a thread. The loader's memory
// counts as that of threads.
func TestParts(t *testing.T) {
	const zlib, loader = "/lib/libz.so", "/lib64/ld-linux-x86-64.so.2"
	f := mapped(
		nativeheap.Area{Start: 1, End: 2, Name: zlib}, nativeheap.Area{Start: 2, End: 8},
		nativeheap.Area{Start: 10, End: 11, Name: loader}, nativeheap.Area{Start: 20, End: 21},
	)
	f.files[zlib] = &library{end: 3*page - 100}
	f.files[loader] = &library{}
	stretchOf := func(from, to uint64, file string, thread bool) stretch {
		return stretch{image.Range{Addr: from * page, Len: (to - from) * page}, file, thread}
	}
	threads := []uint64{3 * page, 21 * page}
	assert.Equal(t, []stretch{stretchOf(1, 2, zlib, false)}, f.parts(0, threads))
	assert.Equal(t, []stretch{stretchOf(2, 3, zlib, false), stretchOf(3, 8, "", true)}, f.parts(1, threads))
	assert.Equal(t, []stretch{stretchOf(10, 11, "", true)}, f.parts(2, threads))
	assert.Equal(t, []stretch{stretchOf(20, 21, "", false)}, f.parts(3, threads))
	assert.Equal(t, []stretch{stretchOf(20, 21, "", true)}, f.parts(3, []uint64{21*page - 8}))
	f.files[zlib].end = page + 8
	assert.Equal(t, []stretch{stretchOf(2, 2, zlib, false), stretchOf(2, 8, "", true)}, f.parts(1, threads), "the file has no such memory")
	f.files[zlib].end = 8 * page
	assert.Equal(t, []stretch{stretchOf(2, 8, zlib, true)}, f.parts(1, threads))
	f.files[zlib].end = 0
	assert.Equal(t, []stretch{stretchOf(2, 8, zlib, true)}, f.parts(1, threads), "where it ends is not known")
	assert.Zero(t, f.endOf(""))
}

// A variable of a library has the addresses from its own on, as far as its size says.
func TestNamed(t *testing.T) {
	l := &library{bias: 0x10000, variables: []objfile.Symbol{{Name: "cache", Addr: 0x100, Size: 16}, {Name: "state", Addr: 0x120, Size: 8}}}
	for at, want := range map[uint64]string{0x10100: "cache", 0x1010f: "cache", 0x10110: "", 0x10120: "state", 0x10127: "state", 0x10128: "", 0x100ff: "", 0x100: ""} {
		assert.Equal(t, want, l.named(at), "%#x", at)
	}
}

// A file that is gone has no variables. It is opened once.
func TestLibraryThatIsGone(t *testing.T) {
	f := mapped(nativeheap.Area{Start: 1, End: 2, Name: "/none/libz.so"})
	l := f.library("/none/libz.so")
	assert.Equal(t, library{}, *l)
	assert.True(t, l == f.library("/none/libz.so"))
	assert.Empty(t, l.named(page))
}
