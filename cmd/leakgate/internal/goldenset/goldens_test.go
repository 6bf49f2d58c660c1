package goldenset_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/goldenset"
	"github.com/leakgate/leakgate/golden"
)

// write makes the files of a folder: golden files by their names, one test file.
func write(t *testing.T, test string, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a_test.go"), []byte(test), 0o666))
	for _, name := range names {
		path := filepath.Join(dir, goldenset.Below, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte("leakgate golden v1\n"), 0o666))
	}
	return dir
}

func links() bool { return true }

// Every name that FileName gives is traced back to its test, also a name that had to be cut.
func TestOwnersOfOddNames(t *testing.T) {
	long := "TestLong" + strings.Repeat("Name", 40)
	source := "package a\nimport \"testing\"\nfunc TestÄ(t *testing.T) {}\nfunc " + long + "(t *testing.T) {}\n" +
		"func FuzzIt(f *testing.F) {}\nvar _ = []string{`a \"b\"`, \"with/slash\"}\n"
	for test, want := range map[string]string{
		"TestÄ":                                "TestÄ",
		"TestÄ/" + strings.Repeat("sub/", 100): "TestÄ",
		long:                                   long,
		long + "/sub":                          long,
		"FuzzIt/seed#0":                        "FuzzIt/seed#0",
		`a "b"`:                                `a "b"`,
		"with/slash":                           "with/slash",
	} {
		name, err := golden.FileName(test)
		require.NoError(t, err)
		second := strings.TrimSuffix(name, golden.Extension) + "~2" + golden.Extension
		allocs := strings.TrimSuffix(name, golden.Extension) + "~go1.26" + golden.Extension
		secondAllocs := strings.TrimSuffix(name, golden.Extension) + "~go1.26~2" + golden.Extension
		files, err := goldenset.Find(write(t, source, name, second, allocs, secondAllocs), links)
		require.NoError(t, err)
		require.Len(t, files, 4)
		for _, f := range files {
			require.Equal(t, goldenset.Owned, f.State, "%s: %s", f.Name, f.Why)
			require.Equal(t, want, f.Owner)
		}
	}
}

func TestRemoveStopsAtTheFolder(t *testing.T) {
	dir := write(t, "package a\n", "a/b.golden", "a/c.golden")
	files, err := goldenset.Find(dir, links)
	require.NoError(t, err)
	require.Len(t, files, 2)
	require.NoError(t, files[0].Remove())
	require.FileExists(t, files[1].Path)
	require.NoError(t, files[1].Remove())
	require.NoDirExists(t, filepath.Join(dir, "testdata"))
	require.FileExists(t, filepath.Join(dir, "a_test.go"))
}
