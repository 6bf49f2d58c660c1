package cli

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	for _, text := range []string{"new", "anew"} {
		require.NoError(t, WriteData(file, []byte(text)))
		requireText(t, file, text)
	}
	require.Error(t, WriteData(dir, nil), "a folder")
	require.Error(t, WriteData(filepath.Join(dir, "none", "file"), nil))
}

// A link stays, and so does what is no ordinary file.
func TestWriteFileReplacesNothingElse(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there, and devices have no place in the file system")
	}
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	require.NoError(t, os.Symlink("file", link))
	require.NoError(t, WriteData(link, []byte("text")))
	requireText(t, file, "text")
	target, err := os.Readlink(link)
	require.NoError(t, err)
	require.Equal(t, "file", target)

	device := filepath.Join(dir, "device") // the device itself may be replaced by root
	require.NoError(t, os.Symlink(os.DevNull, device))
	require.NoError(t, WriteData(device, []byte("text")))
	info, err := os.Stat(device)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeDevice, info.Mode())
}

// What the standard output has already stays, where it is a file.
func TestWriteFileToStandardOutput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out")
	out, err := os.Create(file)
	require.NoError(t, err)
	defer out.Close()
	old := os.Stdout
	os.Stdout = out
	defer func() { os.Stdout = old }()
	_, err = io.WriteString(out, "before ")
	require.NoError(t, err)
	require.NoError(t, WriteData(file, []byte("text")))
	_, err = io.WriteString(out, " after")
	require.NoError(t, err)
	requireText(t, file, "before text after")
}

func requireText(t *testing.T, file, want string) {
	t.Helper()
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, want, string(got))
}
