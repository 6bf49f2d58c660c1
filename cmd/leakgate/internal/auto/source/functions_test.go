package source

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The functions found are those that go test would run.
func TestFunctions(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a_test.go"), []byte(`package a

import (
	"fmt"
	"testing"
	. "testing"
)

func Test(t *testing.T)            {}
func TestOne(t *testing.T)         {}
func Test_two(t *T)                {}
func Testing(t *testing.T)         {} // a helper
func TestMain(m *testing.M)        {}
func TestHelper(n int)             {}
func TestWith[X any](t *testing.T) {}
func (s suite) TestMethod(t *testing.T) {}
func BenchmarkX(b *testing.B)      {}
func FuzzX(f *testing.F)           {}
func FuzzT(t *testing.T)           {}

type suite struct{}

func Example() {
	fmt.Println(1)
	// Output: 1
}

func ExampleSilent() {
	// Output:
}

func ExampleOnlyShown() { fmt.Println(1) }
`), 0o666))
	got, err := functions(dir, []string{"a_test.go"})
	require.NoError(t, err)
	require.Equal(t, Functions{Name: "a", Tests: []string{"Test", "TestOne", "Test_two"}, Examples: []string{"Example", "ExampleSilent"}, Fuzz: []string{"FuzzX"}, Benchmarks: []string{"BenchmarkX"}}, got)
}
