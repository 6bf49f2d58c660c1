//go:build go1.26

package wholefile_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/internal/wholefile"
)

// requireOnly fails if a folder holds anything but the named files: temporary files must not stay.
func requireOnly(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	require.Equal(t, names, found)
}

func TestWriteReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, text := range []string{"a long first text", "second"} {
		require.NoError(t, wholefile.WriteData(path, 0o640, []byte(text)))
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, text, string(data))
		requireOnly(t, dir, "file")
	}
	if runtime.GOOS != "windows" {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&^0o640)
	}
}

// TestWriteKeepsWhatWas writes a file that exists, and fails in each possible way.
func TestWriteKeepsWhatWas(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	require.NoError(t, wholefile.WriteData(path, 0o666, []byte("old")))
	full := errors.New("the disk is full")
	half := func(w io.Writer) {
		_, err := io.WriteString(w, "new, but only ha")
		require.NoError(t, err)
	}
	require.ErrorIs(t, wholefile.Write(path, 0o666, func(w io.Writer) error { half(w); return full }), full)
	require.Panics(t, func() {
		_ = wholefile.Write(path, 0o666, func(w io.Writer) error { half(w); panic("oops") })
	})
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "old", string(data))
	requireOnly(t, dir, "file")

	require.ErrorIs(t, wholefile.WriteData(filepath.Join(dir, "no", "folder"), 0o666, nil), fs.ErrNotExist)
	folder := filepath.Join(dir, "folder")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "full"), 0o777))
	require.Error(t, wholefile.WriteData(folder, 0o666, []byte("text")), "a folder is in the way")
	requireOnly(t, dir, "file", "folder")
}

// TestWriteUnseen checks that there is no file at path while it is written.
func TestWriteUnseen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	require.NoError(t, wholefile.Write(path, 0o666, func(w io.Writer) error {
		_, err := io.WriteString(w, "half")
		require.NoFileExists(t, path)
		left, _ := filepath.Glob(filepath.Join(dir, ".*"))
		require.Len(t, left, 1)
		require.Contains(t, left[0], wholefile.TemporaryMark)
		return err
	}))
	requireOnly(t, dir, "file")
}

// TestWriteAfterAKilledProcess has files of a process with the same id, whose names are taken.
func TestWriteAfterAKilledProcess(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	var name string
	require.NoError(t, wholefile.Write(path, 0o666, func(w io.Writer) error {
		name = filepath.Base(w.(*os.File).Name())
		return nil
	}))
	var n int
	i := strings.LastIndexByte(name, '-')
	_, err := fmt.Sscan(name[i+1:], &n)
	require.NoError(t, err)
	for next := n + 1; next <= n+3; next++ {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(name[:i+1], next)), []byte("not ours"), 0o666))
	}
	require.NoError(t, wholefile.WriteData(path, 0o666, []byte("text")))
	left, _ := filepath.Glob(filepath.Join(dir, ".*"))
	require.Len(t, left, 3)
	for _, file := range left {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, "not ours", string(data))
	}
}

func TestWriteAtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 10 {
				assert.NoError(t, wholefile.WriteData(path, 0o666, []byte(strings.Repeat(string(rune('a'+i)), 5000))))
			}
		})
	}
	wg.Wait()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Len(t, data, 5000)
	require.Equal(t, strings.Repeat(string(data[:1]), 5000), string(data))
	requireOnly(t, dir, "file")
}
