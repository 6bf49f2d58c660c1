package wholefile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/internal/wholefile"
)

func TestWriteFolder(t *testing.T) {
	dir := t.TempDir()
	files := []wholefile.File{{Name: "a", Data: []byte("one")}, {Name: "none"}, {Name: "b", Data: []byte("two")}}
	for _, name := range []string{"x", "x-2", "x-3"} {
		path, err := wholefile.WriteFolder(dir, "x", files)
		require.NoError(t, err)
		assert.Equal(t, filepath.Join(dir, name), path)
		requireOnly(t, path, "a", "b")
		got, err := os.ReadFile(filepath.Join(path, "b"))
		require.NoError(t, err)
		assert.Equal(t, "two", string(got))
	}
	requireOnly(t, dir, "x", "x-2", "x-3")
}

// If a folder cannot be written as a whole, it is not made.
func TestWriteFolderFails(t *testing.T) {
	dir := t.TempDir()
	_, err := wholefile.WriteFolder(dir, "x", []wholefile.File{{Name: "a", Data: []byte("one")}, {Name: "no/such/b", Data: []byte("two")}})
	require.Error(t, err)
	requireOnly(t, dir)
	_, err = wholefile.WriteFolder(filepath.Join(dir, "missing"), "x", []wholefile.File{{Name: "a", Data: []byte("one")}})
	require.Error(t, err)
	requireOnly(t, dir)
}
