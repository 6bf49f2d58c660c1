package goldenset

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever lists golden files removes what a process that was killed left beside them, and no other
// file.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	left, others := filepath.Join(dir, ".leakgate.tmp-1-1"), filepath.Join(dir, "notes.tmp-1")
	golden := filepath.Join(dir, "a.golden")
	for _, file := range []string{left, others, golden} {
		require.NoError(t, os.WriteFile(file, nil, 0o666))
	}
	names, err := list(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"a.golden"}, names)
	if runtime.GOOS == "linux" {
		_, err = os.Stat(left)
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	_, err = os.Stat(others)
	require.NoError(t, err)
}
