package sameprogram

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/debuginfo/dwarfread"
	"github.com/leakgate/leakgate/internal/engine/debuginfo/elffile"
	"github.com/leakgate/leakgate/internal/engine/debuginfo/program"
	"github.com/leakgate/leakgate/internal/engine/debuginfo/progtest"
	"github.com/leakgate/leakgate/internal/require"
)

func TestMain(m *testing.M) { progtest.Main(m) }

// TestSameProgram is the check that a twin has to pass, on programs that are not twins.
func TestSameProgram(t *testing.T) {
	same := func(a, b string) error {
		x, err := elffile.Open(a)
		require.NoError(t, err)
		defer x.Close()
		y, err := elffile.Open(b)
		require.NoError(t, err)
		defer y.Close()
		return Check(x, y)
	}
	plain := progtest.Build(t)
	require.NoError(t, same(plain, plain))
	require.NoError(t, same(progtest.Build(t, "-ldflags=-s -w"), progtest.Build(t, "-ldflags=-f -f")))
	require.ErrorIs(t, same(plain, progtest.Build(t, "-gcflags=-N -l")), ErrDiffers)
	require.ErrorIs(t, same(plain, progtest.Build(t, "-ldflags=-X main.nothing=longer")), ErrDiffers)
	require.ErrorIs(t, same(progtest.Build(t, "-trimpath"), plain), ErrDiffers)
	if progtest.Long() {
		require.ErrorIs(t, same(plain, progtest.Build(t, "GOTOOLCHAIN=go1.27.3")), ErrDiffers)
		require.NoError(t, same(progtest.Build(t, "GOARCH=arm64", "-ldflags=-s -w"), progtest.Build(t, "GOARCH=arm64", "-ldflags=-f -f")))
		require.ErrorIs(t, same(plain, progtest.Build(t, "GOARCH=arm64")), ErrDiffers)
	}

	// Equal in layout, and different in one place each.
	b, err := os.ReadFile(plain)
	require.NoError(t, err)
	f, err := elffile.New(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	p, err := dwarfread.Read(f)
	require.NoError(t, err)
	i := slices.IndexFunc(p.Functions, func(f program.Function) bool { return f.Name == "main.frame" })
	require.NotEqual(t, -1, i)
	main := p.Functions[i]
	text, gopclntab := f.Section(".text"), f.Section(".gopclntab")
	data, noptr, module := f.Section(".data"), f.Section(".noptrdata"), f.Section(".go.module")
	for name, off := range map[string]uint64{
		"code":           text.Offset + main.Entry - text.Addr + 1,
		"function table": gopclntab.Offset + gopclntab.Size/2,
		"names":          gopclntab.Offset + 200,
		"variable":       data.Offset + 8,
		"noptr variable": noptr.Offset + noptr.Size/2,
		"module":         module.Offset + moduleData,
	} {
		t.Run(name, func(t *testing.T) {
			changed := bytes.Clone(b)
			changed[off] ^= 0x40
			path := filepath.Join(t.TempDir(), "changed")
			require.NoError(t, os.WriteFile(path, changed, 0o777))
			require.ErrorIs(t, same(plain, path), ErrDiffers)
		})
	}
}
