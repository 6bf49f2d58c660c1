//go:build unix

package wholefile_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/internal/wholefile"
)

// makeSpecial makes a pipe, which RemoveUnclaimed removes, and a symbolic link, which it leaves.
func makeSpecial(t *testing.T, at func(name string) string) bool {
	t.Helper()
	require.NoError(t, syscall.Mkfifo(at("f.tmp-pipe"), 0o600))
	require.NoError(t, os.Symlink(at("other"), at("s.tmp-link")))
	return true
}

// TestClaimRefused claims a file that a cleaner holds, or has removed.
func TestClaimRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tmp-1")
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	cleaner, err := os.Open(path)
	require.NoError(t, err)
	locked, err := wholefile.TryLock(cleaner)
	require.NoError(t, err)
	require.True(t, locked)
	require.False(t, wholefile.Claim(f, path), "the cleaner has it")
	require.NoError(t, os.Remove(path))
	require.NoError(t, cleaner.Close())
	require.False(t, wholefile.Claim(f, path), "it is removed")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.False(t, wholefile.Claim(f, path), "another file has its name")
}

// What is no ordinary file is not opened, and no opening waits.
func TestOpenSpecial(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(pipe, link))
	for _, path := range []string{pipe, link, dir, os.DevNull} {
		_, err := wholefile.Open(path)
		require.ErrorContains(t, err, "not a regular file")
	}
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Symlink(file, link))
	f, err := wholefile.Open(link)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}
