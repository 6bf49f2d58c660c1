package artifacts

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shard makes an artifacts directory with links beside a folder with a secret, which is nobody's
// business.
func shard(t *testing.T) Folder {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	top := t.TempDir()
	dir, outside := filepath.Join(top, "shard"), filepath.Join(top, "outside")
	record := filepath.Join(dir, "tests", "p", "TestX", "1")
	require.NoError(t, os.MkdirAll(record, 0o777))
	require.NoError(t, os.Mkdir(outside, 0o777))
	for file, text := range map[string]string{filepath.Join(outside, "shadow"): "secret", filepath.Join(record, "trace.txt"): "text"} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o666))
	}
	for link, target := range map[string]string{
		"tests/p/TestX/1/relative": "../../../../../outside/shadow", "tests/p/TestX/1/absolute": filepath.Join(outside, "shadow"),
		"tests/p/TestX/1/inside": "trace.txt", "tests/p/TestX/1/loop": "loop", "tests/p/TestX/1/device": os.DevNull,
		"tests/p/folder": outside, "tests/q": "p/TestX", "leakgate.json": filepath.Join(outside, "shadow"),
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, filepath.FromSlash(link))))
	}
	return Folder(dir)
}

func TestFolderReadsNothingOutside(t *testing.T) {
	f := shard(t)
	for _, name := range []string{
		"leakgate.json", "tests/p/TestX/1/relative", "tests/p/TestX/1/absolute", "tests/p/folder/shadow", "tests/p/TestX/1/device",
		"tests/p/TestX/1/loop", "../outside/shadow", "tests/../../outside/shadow", filepath.Join(filepath.Dir(string(f)), "outside", "shadow"), "tests", "", ".",
	} {
		data, err := f.Read(name, 100)
		require.Error(t, err, name)
		assert.Empty(t, data, name)
		assert.ErrorContains(t, err, string(f), name)
	}
	for _, name := range []string{"tests/p/TestX/1/trace.txt", "tests/p/TestX/1/inside", "tests/q/1/trace.txt"} {
		data, err := f.Read(name, 4)
		require.NoError(t, err)
		assert.Equal(t, "text", string(data))
		_, err = f.Read(name, 3)
		assert.ErrorContains(t, err, "no more than 3")
		_, err = f.Profile(name)
		assert.ErrorContains(t, err, name+" is no profile")
	}
}

// Merging copies what a shard has, and nothing that its links lead to.
func TestAdoptCopiesNothingOutside(t *testing.T) {
	f := shard(t)
	d, err := Open(t.TempDir())
	require.NoError(t, err)
	defer d.Close()
	found, err := d.Adopt(f, "tests/p/TestX/1")
	require.NoError(t, err)
	require.True(t, found)
	entries, err := os.ReadDir(filepath.Join(d.Records(), "p", "TestX", "1"))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	assert.Equal(t, "trace.txt", entries[0].Name())

	for folder, why := range map[string]string{
		"tests/p/folder": "escapes", "tests/p/folder/": "invalid", "../outside": "which is none of a record", "tests/../../outside": "which is none of a record",
		".": "which is none of a record", "": "which is none of a record", "/": "which is none of a record",
	} {
		found, err := d.Adopt(f, folder)
		require.ErrorContains(t, err, why, folder)
		require.False(t, found)
	}
	found, err = d.Adopt(f, "tests/p/TestX/2")
	require.NoError(t, err)
	require.False(t, found)
	require.NoError(t, filepath.WalkDir(d.Path, func(path string, e os.DirEntry, err error) error {
		assert.NotEqual(t, "shadow", e.Name())
		return err
	}))
}

// Merging copies no file beyond the bounds, nor more than those in all: a sparse file costs whoever
// made it nothing.
func TestAdoptIsBounded(t *testing.T) {
	file, all := mostOfFile, mostInAll
	defer func() { mostOfFile, mostInAll = file, all }()
	mostOfFile, mostInAll = 100, 150
	from := t.TempDir()
	for name, size := range map[string]int64{"fits": 100, "larger": 101, "other": 60} {
		dir := filepath.Join(from, "tests", name)
		require.NoError(t, os.MkdirAll(dir, 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "trace.txt"), nil, 0o666))
		require.NoError(t, os.Truncate(filepath.Join(dir, "trace.txt"), size))
	}
	d, err := Open(t.TempDir())
	require.NoError(t, err)
	defer d.Close()
	_, err = d.Adopt(Folder(from), "tests/larger")
	require.ErrorContains(t, err, "no more than 100 of a file are copied")
	require.NoFileExists(t, filepath.Join(d.Records(), "larger", "trace.txt"))
	_, err = d.Adopt(Folder(from), "tests/fits")
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(d.Records(), "fits", "trace.txt"))
	_, err = d.Adopt(Folder(from), "tests/other")
	require.ErrorContains(t, err, "and 150 in all")
}
