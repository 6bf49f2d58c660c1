package debuginfo

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

const fieldExample = `package x

type one struct{ a, b int; c string }

// type two struct { a int }
type two[K comparable, V any] struct {
	a    map[K]struct{ inner int }
	b, c V // d
	*one
	sync.Mutex
	f func(a int) (z struct{ y int })
	e string "x"
}

type (
	three = two[int, string]
	four  struct {
		a chan<- int
	}
	five []struct{ a int } // of its elements
)

var v struct{ a int }

func g() { type six struct{ a int } }

type seven interface{ a() }
type eight struct {
}
type nine struct {
	a int
}
`

func TestFieldLine(t *testing.T) {
	for name, want := range map[[2]string]int{
		{"one", "a"}: 3, {"one", "b"}: 3, {"one", "c"}: 3, {"one", "int"}: 0, {"two", "a"}: 7, {"two", "b"}: 8, {"two", "c"}: 8, {"two", "V"}: 0,
		{"two", "inner"}: 0, {"two", "one"}: 9, {"two", "Mutex"}: 10, {"two", "f"}: 11, {"two", "y"}: 0, {"two", "z"}: 0, {"two", "e"}: 12,
		{"three", "a"}: 0, {"four", "a"}: 18, {"five", "a"}: 20, {"six", "a"}: 0, {"seven", "a"}: 0, {"eight", "a"}: 0, {"nine", "a"}: 31,
	} {
		assert.Equal(t, want, fieldLine([]byte(fieldExample), name[0], name[1]), name)
	}
}

func FuzzFieldLine(f *testing.F) {
	f.Add([]byte(fieldExample), "two", "e")
	f.Add([]byte("type ("), "x", "y")
	f.Add([]byte("type (a struct {]\n b)"), "a", "b")
	f.Fuzz(func(t *testing.T, src []byte, typ, field string) {
		if line := fieldLine(src, typ, field); line < 0 || line > len(src)+1 {
			t.Errorf("line %d", line)
		}
	})
}

// TestFieldsOfTheStandardLibrary compares fieldLine with go/parser.
func TestFieldsOfTheStandardLibrary(t *testing.T) {
	fields := 0
	for _, dir := range []string{"runtime", "go/types", "os", "net/http"} {
		files, err := filepath.Glob(filepath.Join(build.Default.GOROOT, "src", dir, "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			src, err := os.ReadFile(file)
			require.NoError(t, err)
			set := token.NewFileSet()
			parsed, err := parser.ParseFile(set, file, src, parser.SkipObjectResolution)
			require.NoError(t, err)
			for _, d := range parsed.Decls {
				g, _ := d.(*ast.GenDecl)
				if g == nil {
					continue
				}
				for _, spec := range g.Specs {
					typ, _ := spec.(*ast.TypeSpec)
					if typ == nil {
						continue
					}
					s, _ := typ.Type.(*ast.StructType)
					if s == nil {
						continue
					}
					for _, f := range s.Fields.List {
						for _, name := range f.Names {
							if name.Name != "_" {
								fields++
								assert.Equal(t, set.Position(name.Pos()).Line, fieldLine(src, typ.Name.Name, name.Name), file, typ.Name.Name, name.Name)
							}
						}
					}
				}
			}
		}
	}
	require.True(t, fields > 1000, fields)
}
