package debuginfo

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goCommand builds the go command with debug information: about 20 MB of code that everybody has.
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
		_, err := Build(path)
		require.NoError(b, err)
	}
	size, dwarf, entries := measureIndex(b, path)
	b.ReportMetric(100*float64(size)/float64(dwarf), "index-%") // of the debug information as it is when unpacked
	b.ReportMetric(float64(size)/float64(entries), "index-B/DIE")
}

// measureIndex returns the bytes of a program's index, and the bytes and entries of its DWARF.
func measureIndex(tb testing.TB, path string) (size, dwarf, entries int) {
	f, err := openELF(path)
	require.NoError(tb, err)
	defer f.Close()
	c, err := buildContents(f, sourceOwn)
	require.NoError(tb, err)
	size = len(packFile(c))
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

func BenchmarkOpenWarm(b *testing.B) {
	f, err := openELF(goCommand(b))
	require.NoError(b, err)
	built, err := buildContents(f, sourceOwn)
	require.NoError(b, err)
	c, warning := newCache(Options{CacheDir: b.TempDir()})
	require.Empty(b, warning)
	file := packFile(built)
	require.NoError(b, c.store(f.buildID(), file))
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		clear(mappings.open) // as in a new process
		_, err := c.load(f.buildID())
		require.NoError(b, err)
	}
}

func BenchmarkLookups(b *testing.B) {
	x, err := Build(goCommand(b))
	require.NoError(b, err)
	mheap, ok := x.TypeByName("runtime.mheap")
	require.True(b, ok)
	global, ok := x.GlobalByName("runtime.mheap_")
	require.True(b, ok)
	main := x.fn(x.count(tableFuncs) / 2)
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
