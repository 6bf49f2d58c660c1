package objfile_test

import (
	"debug/buildinfo"
	"os"
	"runtime"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// BuildInfo reads what debug/buildinfo reads.
func TestBuildInfo(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("ELF is a format of other systems")
	}
	exe, err := os.Executable()
	require.NoError(t, err)
	want, err := buildinfo.ReadFile(exe)
	require.NoError(t, err)
	f, err := objfile.OpenELF(exe)
	require.NoError(t, err)
	defer f.Close()
	got, err := f.BuildInfo()
	require.NoError(t, err)
	require.Equal(t, want.String(), got.String())
	require.Equal(t, want.GoVersion, got.GoVersion)

	f, err = objfile.OpenELF("/bin/sh")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	_, err = f.BuildInfo()
	require.ErrorIs(t, err, objfile.ErrNoBuildInfo)
}
