package callrecord

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/internal/verdict"
)

const shopSource = `
namespace shop {
static inline int twice(int n) {
	return n * 2 + *(volatile int *)&n;
}
__attribute__((noinline)) int open(int n) {
	return twice(n) + 1;
}
}
extern "C" int start(int n) { return shop::open(n) + shop::open(n + 1); }
`

// shopLibrary compiles a library, and returns its path and the symbols of its functions.
func shopLibrary(t *testing.T) (file string, functions map[string]elf.Symbol) {
	t.Helper()
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("g++ is not installed")
	}
	dir := t.TempDir()
	in := filepath.Join(dir, "shop.cc")
	file = filepath.Join(dir, "libshop.so")
	require.NoError(t, os.WriteFile(in, []byte(shopSource), 0o666))
	out, err := exec.Command("g++", "-g", "-O1", "-shared", "-fPIC", "-o", file, in).CombinedOutput()
	require.NoError(t, err, "%s", out)
	x, err := elf.Open(file)
	require.NoError(t, err)
	defer x.Close()
	symbols, err := x.Symbols()
	require.NoError(t, err)
	functions = make(map[string]elf.Symbol)
	for _, s := range symbols {
		functions[s.Name] = s
	}
	return file, functions
}

// mapsOf returns a memory map as the kernel lists it, of a file at an address, with anonymous code
// right below it.
func mapsOf(t *testing.T, file string, base uint64) string {
	t.Helper()
	x, err := elf.Open(file)
	require.NoError(t, err)
	defer x.Close()
	var b strings.Builder
	fmt.Fprintf(&b, "%x-%x r-xp 00000000 00:00 0\n", base-0x1000, base)
	for _, p := range x.Progs {
		if p.Type == elf.PT_LOAD {
			start, end := p.Vaddr&^0xfff, (p.Vaddr+p.Memsz+0xfff)&^0xfff
			mode := "r--p"
			if p.Flags&elf.PF_X != 0 {
				mode = "r-xp"
			}
			fmt.Fprintf(&b, "%x-%x %s %08x 00:00 1 %s\n", base+start, base+end, mode, p.Off&^0xfff, file)
		}
	}
	return b.String()
}

type noMemory struct{}

func (noMemory) ReadAt([]byte, int64) (int, error) { return 0, errors.New("there is none") }

func answerTo(t *testing.T, r *record) *verdict.NativeAnswer {
	t.Helper()
	a, err := answer(r, noMemory{})
	require.NoError(t, err)
	return a
}

// TestAnswer names calls of a C++ library, inlined calls included. Neighbouring code gets no names
// of the library.
func TestAnswer(t *testing.T) {
	file, functions := shopLibrary(t)
	const base = 0x7f0000010000
	inOpen := base + functions["_ZN4shop4openEi"].Value + functions["_ZN4shop4openEi"].Size
	inStart := base + functions["start"].Value + 12
	stray := uint64(base - 0x800)
	r := &record{Maps: mapsOf(t, file, base), TimeNanos: 5, Stacks: []stack{
		{Function: "malloc", C: []uint64{inOpen, inStart}, Go: []uint64{stray}, Base: amount{Blocks: 1, Bytes: 10}, Last: amount{Blocks: 3, Bytes: 30}},
		{Function: "mmap", C: []uint64{stray}, Last: amount{Blocks: 1, Bytes: 4096}},
	}}
	a := answerTo(t, r)
	base1, err := profile.ParseData([]byte(a.Base))
	require.NoError(t, err)
	last, err := profile.ParseData([]byte(a.Last))
	require.NoError(t, err)
	require.Equal(t, []int64{1, 10}, base1.Sample[0].Value)
	require.Len(t, base1.Sample, 1)
	require.Len(t, last.Sample, 2)
	require.Equal(t, []int64{3, 30}, last.Sample[0].Value)
	require.EqualValues(t, 5, last.TimeNanos)
	require.Equal(t, "malloc", last.Sample[0].Location[0].Line[0].Function.Name)
	require.Equal(t, file, last.Sample[0].Location[1].Mapping.File)
	require.True(t, last.Sample[0].Location[1].Mapping.HasFunctions)
	open := last.Sample[0].Location[1].Line
	require.Equal(t, "shop::open", open[len(open)-1].Function.Name)
	start := last.Sample[0].Location[2].Line[0]
	require.Equal(t, "start", start.Function.Name)
	require.Equal(t, "shop.cc", filepath.Base(start.Function.Filename))
	require.EqualValues(t, 10, start.Line)
	anonymous := last.Sample[1].Location[1]
	require.Equal(t, fmt.Sprintf("[anonymous:%x]", uint64(base-0x1000)), anonymous.Mapping.File)
	require.Equal(t, fmt.Sprintf("[anonymous:%x]+0x7ff", uint64(base-0x1000)), anonymous.Line[0].Function.Name)
}

// TestAnswerBroken expects an error for a broken memory map, and no panic.
func TestAnswerBroken(t *testing.T) {
	for _, maps := range []string{"", "no map"} {
		_, err := answer(&record{Maps: maps}, noMemory{})
		require.Error(t, err)
	}
}

func TestGrown(t *testing.T) {
	for want, s := range map[[2]float64]stack{
		{2, 20}:   {Base: amount{5, 50}, Last: amount{25, 250}},
		{0, 0}:    {Last: amount{0, 100}},
		{0, 64}:   {Base: amount{1, 64}, Last: amount{1, 704}},
		{0.1, 10}: {Last: amount{1, 100}},
	} {
		blocks, size := s.Grown(10)
		require.Equal(t, want, [2]float64{blocks, size})
	}
}

// TestGeneratedCode names generated code by an entry of a map for perf.
func TestGeneratedCode(t *testing.T) {
	const pid = 1<<22 + 77 // larger than the ID of any process
	file := fmt.Sprintf("/tmp/perf-%d.map", pid)
	require.NoError(t, os.WriteFile(file, []byte("500000 100 JS:*leak\n"), 0o666))
	defer os.Remove(file)
	a := answerTo(t, &record{
		PID: pid, Maps: "500000-501000 rwxp 00000000 00:00 0\n", Calls: 1,
		Stacks: []stack{{Function: "malloc", C: []uint64{0x500011}, Last: amount{Blocks: 1, Bytes: 8}}},
	})
	require.Equal(t, []verdict.NativeLine{{Text: "   +1.00 block/op (+8 B/op): malloc <- JS:*leak"}}, a.Lines)
}
