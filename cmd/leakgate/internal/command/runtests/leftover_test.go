package runtests

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMove(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	write := func(names ...string) {
		for _, name := range names {
			name = filepath.Join(dir, filepath.FromSlash(name))
			require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
			require.NoError(t, os.WriteFile(name, nil, 0o666))
		}
	}
	write("a.go", "a_test.go", "testdata/in", "sub/b.go", "out/old", ".git/x")
	f := lookAt(dir, filepath.Join(dir, "out"))
	write("tmp/deep/new", "testdata/new", "sub/new", "out/new", ".git/new")
	moved := f.Move(to)
	slices.Sort(moved)
	require.Equal(t, []string{"testdata/new", "tmp"}, moved)
	for _, name := range []string{"a.go", "testdata/in", "sub/new", "out/new", ".git/new"} {
		require.FileExists(t, filepath.Join(dir, filepath.FromSlash(name)))
	}
	require.NoFileExists(t, filepath.Join(dir, "tmp"))
	require.FileExists(t, filepath.Join(to, "tmp", "deep", "new"))
	require.FileExists(t, filepath.Join(to, "testdata", "new"))
	require.Empty(t, f.Move(to))
}
