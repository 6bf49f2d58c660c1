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

const sourceExample = `// Package x: var comment int
package x

import (
	"fmt"
)

var one = fmt.Sprint("var two int", 'v', ` + "`\nvar two int\n`" + `)

/* var three
*/ var three, four int

var (
	five, // a list
	six = 1, func() int { var seven int; _ = seven; return 7 }()
	eight struct {
		nine int
	}
	ten = []int{
		1,
	}; eleven string
)

func f() {
	var twelve int
	_ = twelve
	one++
}

type t struct{ thirteen int }

const fourteen = 1
var été map[string]chan<- struct {} // fifteen
var _, sixteen = 1.5e3, map[rune]int{'"': 1, '\'': 2}`

func TestVariableLine(t *testing.T) {
	for name, want := range map[string]int{
		"one": 8, "two": 0, "three": 13, "four": 13, "five": 16, "six": 17, "seven": 0, "eight": 18, "nine": 0, "ten": 21, "eleven": 23,
		"twelve": 0, "thirteen": 0, "fourteen": 0, "été": 35, "fifteen": 0, "sixteen": 36, "f": 0, "fmt": 0,
	} {
		assert.Equal(t, want, variableLine([]byte(sourceExample), name), name)
	}
}

func FuzzVariableLine(f *testing.F) {
	f.Add([]byte(sourceExample), "eight")
	f.Add([]byte("var ("), "x")
	f.Add([]byte("var (a = (]\n b)"), "b")
	f.Fuzz(func(t *testing.T, src []byte, name string) {
		line := variableLine(src, name)
		if line < 0 || line > len(src)+1 {
			t.Errorf("line %d", line)
		}
	})
}

// TestVariablesOfTheStandardLibrary compares variableLine with go/parser.
func TestVariablesOfTheStandardLibrary(t *testing.T) {
	variables := 0
	for _, dir := range []string{"runtime", "go/types", "os"} {
		files, err := filepath.Glob(filepath.Join(build.Default.GOROOT, "src", dir, "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			src, err := os.ReadFile(file)
			require.NoError(t, err)
			set := token.NewFileSet()
			parsed, err := parser.ParseFile(set, "", src, parser.SkipObjectResolution)
			require.NoError(t, err)
			for _, d := range parsed.Decls {
				g, ok := d.(*ast.GenDecl)
				if !ok || g.Tok != token.VAR {
					continue
				}
				for _, spec := range g.Specs {
					for _, n := range spec.(*ast.ValueSpec).Names {
						if n.Name != "_" {
							variables++
							require.Equal(t, set.PositionFor(n.Pos(), false).Line, variableLine(src, n.Name), "%s: %s", file, n.Name)
						}
					}
				}
			}
		}
	}
	require.Greater(t, variables, 300)
}
