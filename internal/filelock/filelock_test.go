//go:build linux

package filelock_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/leakgate/leakgate/internal/filelock"
	"github.com/leakgate/leakgate/internal/require"
)

// TestRemoveUnclaimed has one of each thing in a folder: what is claimed stays, and so does what
// has another name.
func TestRemoveUnclaimed(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"a.tmp-dead", "a.tmp-alive", "other"} {
		require.NoError(t, os.WriteFile(at(name), []byte("text"), 0o600))
	}
	for _, name := range []string{"d.tmp-dead", "d.tmp-alive"} {
		require.NoError(t, os.MkdirAll(at(name+"/sub"), 0o700))
	}
	require.NoError(t, syscall.Mkfifo(at("f.tmp-pipe"), 0o600))
	require.NoError(t, os.Symlink(at("other"), at("s.tmp-link")))
	for _, name := range []string{"a.tmp-alive", "d.tmp-alive"} {
		f, err := os.Open(at(name))
		require.NoError(t, err)
		defer f.Close()
		require.True(t, filelock.Claim(f, at(name)))
	}
	filelock.RemoveUnclaimed(dir, ".tmp-")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	require.Equal(t, []string{"a.tmp-alive", "d.tmp-alive", "other", "s.tmp-link"}, left)
	filelock.RemoveUnclaimed(at("missing"), ".tmp-")
}

// TestClaimRefused is a claim for what a cleaner holds, or has removed.
func TestClaimRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tmp-1")
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	cleaner, err := os.Open(path)
	require.NoError(t, err)
	locked, err := filelock.Try(cleaner)
	require.NoError(t, err)
	require.True(t, locked)
	require.False(t, filelock.Claim(f, path), "the cleaner has it")
	require.NoError(t, os.Remove(path))
	require.NoError(t, cleaner.Close())
	require.False(t, filelock.Claim(f, path), "it is removed")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.False(t, filelock.Claim(f, path), "another file has its name")
}
