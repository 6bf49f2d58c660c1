package dwarfread

import (
	"debug/dwarf"
	"debug/elf"
	"os"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/progtest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// BenchmarkEntries reads all entries of a program from uncompressed sections, with this package's
// reader and with debug/dwarf. It shows why this package has its own reader.
func BenchmarkEntries(b *testing.B) {
	path := os.Getenv("LEAKGATE_BENCH_BINARY")
	if path == "" {
		path = progtest.Build(b)
	}
	f := progtest.Open(b, path)
	sections, headers, err := readSections(f)
	require.NoError(b, err)
	b.Run("own", func(b *testing.B) {
		for b.Loop() {
			n := 0
			for _, h := range headers {
				u := newUnitReader(sections, h)
				for len(u.b) > 0 {
					if e, err := u.next(); err != nil {
						b.Fatal(err)
					} else if e != nil {
						n++
					}
				}
			}
			require.NotEqual(b, 0, n)
		}
	})
	b.Run("debug/dwarf", func(b *testing.B) {
		file, err := elf.Open(path)
		require.NoError(b, err)
		defer file.Close()
		data, err := file.DWARF()
		require.NoError(b, err)
		for b.Loop() {
			n := 0
			var e *dwarf.Entry
			for r := data.Reader(); ; n++ {
				if e, err = r.Next(); err != nil {
					b.Fatal(err)
				}
				if e == nil {
					break
				}
			}
			require.NotEqual(b, 0, n)
		}
	})
}
