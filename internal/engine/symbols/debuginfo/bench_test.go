package debuginfo

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/dwarfread"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/symindex"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile/anyfile"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/progtest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// goCommand builds the go command with debug information: about 20 MB of code that every machine
// with Go has.
func goCommand(tb testing.TB) string {
	tb.Helper()
	if path := os.Getenv("LEAKGATE_BENCH_BINARY"); path != "" {
		return path
	}
	path := filepath.Join(tb.TempDir(), "go")
	out, err := exec.CommandContext(tb.Context(), "go", "build", "-o", path, "cmd/go").CombinedOutput()
	require.NoError(tb, err, "%s", out)
	return path
}

func BenchmarkBuild(b *testing.B) {
	path := goCommand(b)
	st, err := os.Stat(path)
	require.NoError(b, err)
	b.SetBytes(st.Size())
	for b.Loop() {
		f, err := anyfile.Open(path)
		require.NoError(b, err)
		_, err = Build(f)
		require.NoError(b, err)
		require.NoError(b, f.Close())
	}
	size, dwarf, entries := measureIndex(b, path)
	// percentage of the uncompressed debug information
	b.ReportMetric(100*float64(size)/float64(dwarf), "index-%")
	b.ReportMetric(float64(size)/float64(entries), "index-B/DIE")
}

// measureIndex returns the bytes of a program's index, and the bytes and entries of its DWARF.
func measureIndex(tb testing.TB, path string) (size, dwarf, entries int) {
	f := progtest.Open(tb, path)
	p, err := dwarfread.Read(f)
	require.NoError(tb, err)
	size = fileSize(tb, p)
	file, err := elf.Open(path)
	require.NoError(tb, err)
	defer file.Close()
	for _, s := range file.Sections {
		if strings.HasPrefix(s.Name, ".debug_") {
			dwarf += int(s.Size)
		}
	}
	info, err := file.DWARF()
	require.NoError(tb, err)
	for r := info.Reader(); ; entries++ {
		e, err := r.Next()
		require.NoError(tb, err)
		if e == nil {
			return size, dwarf, entries
		}
	}
}

// An index takes less than half of the bytes of the debug information, and a few bytes for each
// entry.
func TestIndexSize(t *testing.T) {
	size, dwarf, entries := measureIndex(t, progtest.Build(t))
	t.Logf("%d bytes of %d, %d entries", size, dwarf, entries)
	assert.Less(t, float64(size)/float64(entries), 20.0)
	assert.Less(t, float64(size)/float64(dwarf), 0.4)
}

func fileSize(tb testing.TB, p *symindex.Program) int {
	tb.Helper()
	var b bytes.Buffer
	require.NoError(tb, symindex.New(p).WriteFile(&b))
	return b.Len()
}

func BenchmarkOpenWarm(b *testing.B) {
	f := progtest.Open(b, goCommand(b))
	p, err := dwarfread.Read(f)
	require.NoError(b, err)
	c, warning := symindex.OpenCache(b.TempDir())
	require.Empty(b, warning)
	require.NoError(b, c.Store(p.Identity, symindex.New(p)))
	b.SetBytes(int64(fileSize(b, p)))
	for b.Loop() {
		symindex.ForgetLoaded() // as in a new process
		x, err := c.Load(p.Identity)
		require.NoError(b, err)
		x.Free()
	}
}

func BenchmarkLookups(b *testing.B) {
	x, err := Build(progtest.Open(b, goCommand(b)))
	require.NoError(b, err)
	mheap, ok := x.TypeByName("runtime.mheap")
	require.True(b, ok)
	global, ok := x.GlobalByName("runtime.mheap_")
	require.True(b, ok)
	main := x.Funcs()[len(x.Funcs())/2]
	b.Run("TypeByName", func(b *testing.B) {
		for b.Loop() {
			x.TypeByName("runtime.mheap")
		}
	})
	b.Run("Type", func(b *testing.B) {
		for b.Loop() {
			x.Type(mheap)
		}
	})
	b.Run("GlobalByName", func(b *testing.B) {
		for b.Loop() {
			x.GlobalByName(global.Name)
		}
	})
	b.Run("FuncByPC", func(b *testing.B) {
		for b.Loop() {
			x.FuncByPC(main.Entry + 1)
		}
	})
	b.Run("Locals", func(b *testing.B) {
		for b.Loop() {
			x.Locals(main.Entry)
		}
	})
}
