package nativeholders

import (
	"os"
	"testing"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
	"github.com/leakgate/leakgate/internal/procfs"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/imagetest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// firstThread is the address of the first thread's struct m, and its stack pointer.
func (p *process) firstThread(t *testing.T, f *finder) (m, sp uint64) {
	t.Helper()
	m = p.variable(t, "runtime.m0")
	field := func(typ, name string) uint64 {
		off, err := imagetest.Offset(f.heap.Model, typ, name)
		require.NoError(t, err)
		return off
	}
	g0 := p.U64(m + field("runtime.m", "g0"))
	return m, p.U64(g0 + field("runtime.g", "sched") + field("runtime.gobuf", "sp"))
}

// The part of a stack below the stack pointer is unused, unless the thread runs C code, and so is
// the stack of a thread that has ended. Stacks may lie side by side.
func TestThreads(t *testing.T) {
	const stacks = beside
	f, p := inProgram(t, 0)
	m, sp := p.firstThread(t, f)
	first := nativeheap.Area{Start: sp&^(page-1) - 8*page, End: sp&^(page-1) + 8*page, Writable: true, Name: "[stack]"}
	others := nativeheap.Area{Start: stacks, End: stacks + 16*page, Writable: true}
	f.native.Areas = []nativeheap.Area{others, first}
	alive, ended := uint64(stacks+4*page-structSize), uint64(stacks+12*page-structSize)
	f.native.Threads = []nativeheap.Thread{{Addr: ended, Ended: true}, {Addr: alive}}
	idle, places, err := f.threads()
	require.NoError(t, err)
	want := []image.Range{{Addr: first.Start, Len: sp - first.Start}}
	if threadLocalBelow {
		want = append(want, image.Range{Addr: stacks + 4*page, Len: 8 * page})
	}
	assert.Equal(t, want, idle)
	assert.Equal(t, []uint64{ended, alive, sp}, places)
	assert.False(t, f.inC, "there is a thread in Go for each that lives")

	f.native.Threads = append(f.native.Threads, nativeheap.Thread{Addr: stacks + 16*page - structSize})
	_, _, err = f.threads()
	require.NoError(t, err)
	assert.True(t, f.inC)

	off, err := imagetest.Offset(f.heap.Model, "runtime.m", "incgo")
	require.NoError(t, err)
	f.native.Threads = f.native.Threads[:2]
	p.Put(m+off, []byte{1})
	idle, places, err = f.threads()
	require.NoError(t, err)
	assert.Equal(t, want[1:], idle, "C code uses the stack below the stack pointer")
	assert.Equal(t, []uint64{ended, alive, sp}, places)
	assert.True(t, f.inC)

	f.native.Areas[0].Writable = false
	f.native.Areas[1].Writable = false
	idle, places, err = f.threads()
	require.NoError(t, err)
	assert.Empty(t, idle)
	assert.Equal(t, []uint64{ended, alive}, places)
}

// What is searched beside the heaps is memory that the program may write to, without the unused
// parts of stacks.
func TestWritableStretches(t *testing.T) {
	const zlib = "/none/libz.so.1"
	f, p := inProgram(t, 0)
	_, sp := p.firstThread(t, f)
	arena := f.heap.Model.Spans[0].Base &^ (rtlayout.ArenaSize - 1)
	at := func(i int) uint64 { return beside + uint64(i)*page }
	area := func(from, to int, writable bool, name string) nativeheap.Area {
		return nativeheap.Area{Start: at(from), End: at(to), Writable: writable, Name: name}
	}
	f.native.Areas = []nativeheap.Area{
		{Start: arena, End: arena + rtlayout.ArenaSize, Writable: true},
		area(0, 2, false, zlib), area(2, 3, true, zlib), area(3, 5, true, ""),
		area(10, 20, true, "[heap]"),
		area(30, 31, false, "/dev/zero"), area(32, 33, false, "/memfd:leakgate"), area(33, 34, false, ""),
		area(40, 48, true, ""),
		{Start: sp&^(page-1) - 8*page, End: sp&^(page-1) + 8*page, Writable: true, Name: "[stack]"},
	}
	f.native.Parts = []image.Range{{Addr: at(12), Len: 4 * page}}
	f.native.Threads = []nativeheap.Thread{{Addr: at(48) - structSize}}
	f.pid = -1 // no page map
	all, err := f.writableStretches()
	require.NoError(t, err)
	stretchOf := func(from, to int, file string, thread bool) stretch {
		return stretch{image.Range{Addr: at(from), Len: at(to) - at(from)}, file, thread}
	}
	assert.Equal(t, []stretch{
		stretchOf(2, 3, zlib, false), stretchOf(3, 5, zlib, false),
		stretchOf(10, 12, "", false), stretchOf(16, 20, "", false),
		stretchOf(30, 31, "", false),
		stretchOf(40, 48, "", true),
		{image.Range{Addr: sp, Len: sp&^(page-1) + 8*page - sp}, "", true},
	}, all)
	assert.Contains(t, f.goArenas(), image.Range{Addr: arena, Len: rtlayout.ArenaSize})
	stack := f.heap.Model.Goroutines[0].Lo &^ (rtlayout.ArenaSize - 1)
	assert.Contains(t, f.goArenas(), image.Range{Addr: stack, Len: rtlayout.ArenaSize})
}

// The variables of a file lie where it is mapped, up to the end of its last segment.
func TestLibrary(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	text, err := procfs.Read("/proc/self/maps", make([]byte, 32<<10))
	require.NoError(t, err)
	f, _ := searching(0)
	for m := range procfs.Areas(text) {
		f.native.Areas = append(f.native.Areas, nativeheap.Area{Start: m.Start, End: m.End, Writable: string(m.Mode) == "rw-p", Name: string(m.Name)})
	}
	at := uint64(uintptr(unsafe.Pointer(&page)))
	l := f.library(program)
	assert.Greater(t, l.end, at)
	assert.Less(t, l.end, at+1<<30)
	assert.Contains(t, []string{"", "github.com/leakgate/leakgate/internal/engine/native/nativeholders.page"}, l.named(at), "a stripped file has no names")
	end := f.endOf(program)
	assert.True(t, l.end <= end && end < l.end+page && end%page == 0)
	assert.True(t, f.areaOf(l.end-1) != nil)

	f, _ = searching(0)
	l = f.library(program)
	assert.Zero(t, l.end, "it is not mapped")
}
