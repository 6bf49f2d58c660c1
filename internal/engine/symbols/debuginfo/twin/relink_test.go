package twin

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestLinkFlags(t *testing.T) {
	info := &debug.BuildInfo{Settings: []debug.BuildSetting{
		{Key: "-buildmode", Value: "pie"},
		{Key: "-compiler", Value: "gc"},
		{Key: "-cover", Value: "true"},
		{Key: "-race", Value: "true"},
		{Key: "DefaultGODEBUG", Value: "x=1,y=0"},
		{Key: "CGO_ENABLED", Value: "1"},
	}}
	flags, err := linkFlags(info, "ccache gcc")
	require.NoError(t, err)
	assert.Equal(t, []string{"-X", "testing.testBinary=1", "-extld=ccache gcc", "-buildmode=pie", "-race", "-X=runtime.godebugDefault=x=1,y=0"}, flags)
	for _, key := range []string{"-ldflags", "GOFIPS140"} {
		_, err = linkFlags(&debug.BuildInfo{Settings: []debug.BuildSetting{{Key: key, Value: "v"}}}, "")
		require.ErrorIs(t, err, ErrNoInputs)
		assert.Contains(t, err.Error(), key)
	}
}

func TestMainPackage(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "x.test")
	require.NoError(t, os.WriteFile(exe, nil, 0o700))
	_, err := mainPackage(exe)
	require.ErrorIs(t, err, os.ErrNotExist)
	for text, want := range map[string]string{
		"packagefile example.com/x.test=/cache/a-d\npackagefile os=/cache/b-d\n": "/cache/a-d",
		"packagefile x.test=C:\\cache=1\\a-d\n":                                  "C:\\cache=1\\a-d",
		"packagefile os=/cache/b-d\n":                                            "",
		"modinfo \"x.test=\"\n":                                                  "",
		"packagefile x.test=/cache/a-d":                                          "", // half written
		"":                                                                       "",
	} {
		require.NoError(t, os.WriteFile(inputsOf(exe), []byte(text), 0o600))
		got, err := mainPackage(exe)
		assert.Equal(t, want, got, text)
		assert.Equal(t, want == "", err != nil, text)
		if err != nil {
			require.ErrorIs(t, err, ErrNoInputs)
		}
	}
	require.NoError(t, os.Remove(inputsOf(exe)))
	require.NoError(t, os.Mkdir(inputsOf(exe), 0o700))
	_, err = mainPackage(exe)
	require.ErrorIs(t, err, ErrNoInputs)
}

// TestFindLinker: a linker is accepted if its toolchain has the version that built this test.
func TestFindLinker(t *testing.T) {
	root := t.TempDir()
	want := filepath.Join(root, "pkg", "tool", runtime.GOOS+"_"+runtime.GOARCH, "link"+extension)
	version := func(v string) {
		require.NoError(t, os.WriteFile(filepath.Join(root, "VERSION"), []byte(v+"\ntime 2026\n"), 0o600))
	}
	version(release(runtime.Version()))
	_, found := findLinker([]string{"GOROOT=" + root})
	assert.NotEqual(t, root, found, "it has no linker")
	require.NoError(t, os.MkdirAll(filepath.Dir(want), 0o700))
	require.NoError(t, os.WriteFile(want, nil, 0o700))
	linker, found := findLinker([]string{"GOROOT=" + root})
	assert.Equal(t, want, linker)
	assert.Equal(t, root, found)
	version("go1.2.3")
	_, found = findLinker([]string{"GOROOT=" + root})
	assert.NotEqual(t, root, found, "it is of another version")
}
