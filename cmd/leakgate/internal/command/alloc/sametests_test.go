package alloc

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	}
	return dir
}

const before = `package shop

import "testing"

var table = []int{1, 2}

func helper(t *testing.T) { deeper() }
func deeper()             {}

type fake struct{}

func (fake) Get() int { return 1 }

// A comment.
func TestPlain(t *testing.T)      {}
func TestHelped(t *testing.T)     { helper(t) }
func TestMethod(t *testing.T)     { _ = fake{}.Get() }
func TestData(t *testing.T)       { _ = "testdata/x" }
func TestGone(t *testing.T)       {}
func BenchmarkTable(b *testing.B) { _ = table }
func Testimony()                  {}
`

func TestCompare(t *testing.T) {
	base := map[string]string{"a_test.go": before, "testdata/x": "1"}
	all := []string{"BenchmarkTable", "TestData", "TestGone", "TestHelped", "TestMethod", "TestPlain"}
	for _, c := range []struct {
		name      string
		files     map[string]string
		different []string
	}{
		{"equal", base, nil},
		{"comments and blanks", map[string]string{"b_test.go": "package shop\n\n// Other.\n" + before[len("package shop\n"):], "testdata/x": "1"}, nil},
		{"data", map[string]string{"a_test.go": before, "testdata/x": "2"}, []string{"TestData"}},
		{"no data", map[string]string{"a_test.go": before}, []string{"TestData"}},
		{"a test more", map[string]string{"a_test.go": before, "b_test.go": "package shop\n\nfunc FuzzNew(f *testing.F) {}\n", "testdata/x": "1"}, []string{"FuzzNew"}},
		{"TestMain", map[string]string{"a_test.go": before, "b_test.go": "package shop\n\nfunc TestMain(m *testing.M) {}\n", "testdata/x": "1"}, all},
		{"an example", map[string]string{"a_test.go": before + "func Example_new() {}\n", "testdata/x": "1"}, []string{"Example_new"}},
		{"none", nil, all},
	} {
		tests, err := compareTests(folder(t, base), folder(t, c.files))
		require.NoError(t, err, c.name)
		assert.Equal(t, c.different, tests.different, c.name)
		assert.Equal(t, c.name == "TestMain" || c.name == "an example", tests.onMain, c.name)
		assert.Len(t, tests.same, len(all)-len(without(c.different, "FuzzNew", "Example_new")), c.name)
	}
}

func without(list []string, names ...string) (rest []string) {
	for _, s := range list {
		if !slices.Contains(names, s) {
			rest = append(rest, s)
		}
	}
	return rest
}

// What a test mentions, directly or through functions, methods and variables, is part of the test.
func TestChangedDeclarations(t *testing.T) {
	for text, c := range map[string]struct{ to, test string }{
		"func deeper()             {}": {"func deeper() { println() }", "TestHelped"},
		"return 1":                     {"return 2", "TestMethod"},
		"{1, 2}":                       {"{1, 2, 3}", "BenchmarkTable"},
	} {
		changed := strings.Replace(before, text, c.to, 1)
		require.NotEqual(t, before, changed)
		tests, err := compareTests(folder(t, map[string]string{"a_test.go": before}), folder(t, map[string]string{"a_test.go": changed}))
		require.NoError(t, err)
		assert.Equal(t, []string{c.test}, tests.different)
	}
	_, err := compareTests(folder(t, map[string]string{"a_test.go": "package"}), t.TempDir())
	assert.ErrorContains(t, err, "a test file: ")
}
