package artifacts

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What Open made is gone, and what was there before is not.
func TestDiscard(t *testing.T) {
	names := func(dir string) (names []string) {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	discard := func(path string) {
		d, err := Open(path)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Join(d.Records(), "p", "T"), 0o777))
		for _, file := range []string{d.Report(), d.Page(), filepath.Join(d.Records(), "p", "T", "x")} {
			require.NoError(t, os.WriteFile(file, nil, 0o666))
		}
		require.NoError(t, d.Discard())
	}
	top := t.TempDir()
	discard(filepath.Join(top, "above", "new"))
	require.Empty(t, names(top), "new, and with a folder above it")

	discard(top)
	require.Empty(t, names(top), "it was there and empty")

	d, err := Open(top)
	require.NoError(t, err)
	d.Close()
	require.NoError(t, os.WriteFile(filepath.Join(top, "users.txt"), nil, 0o666))
	discard(top)
	require.Equal(t, []string{".gitignore", ".leakgate-artifacts", "users.txt"}, names(top), "another run made it")
}
