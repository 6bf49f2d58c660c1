package wholefile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/internal/wholefile"
)

// TestRemoveUnclaimed has one file or folder of each kind: claimed ones stay, and so do those with
// other names.
func TestRemoveUnclaimed(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"a.tmp-dead", "a.tmp-alive", "other"} {
		require.NoError(t, os.WriteFile(at(name), []byte("text"), 0o600))
	}
	for _, name := range []string{"d.tmp-dead", "d.tmp-alive"} {
		require.NoError(t, os.MkdirAll(at(name+"/sub"), 0o700))
	}
	left := []string{"a.tmp-alive", "d.tmp-alive", "other"}
	if makeSpecial(t, at) {
		left = append(left, "s.tmp-link")
	}
	for _, name := range []string{"a.tmp-alive", "d.tmp-alive"} {
		f, err := os.Open(at(name))
		require.NoError(t, err)
		defer f.Close()
		require.True(t, wholefile.Claim(f, at(name)))
	}
	wholefile.RemoveUnclaimed(dir, ".tmp-")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	require.Equal(t, left, found)
	wholefile.RemoveUnclaimed(at("missing"), ".tmp-")
}

// TestTry takes a lock once, and again when its holder has closed the file. A locked file can be
// read and written.
func TestTry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	locked, err := wholefile.TryLock(first)
	require.NoError(t, err)
	require.True(t, locked)
	second, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	defer second.Close()
	locked, err = wholefile.TryLock(second)
	require.NoError(t, err)
	require.False(t, locked)
	_, err = second.WriteString("text")
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "text", string(text))
	require.NoError(t, first.Close())
	locked, err = wholefile.TryLock(second)
	require.NoError(t, err)
	require.True(t, locked)
}
