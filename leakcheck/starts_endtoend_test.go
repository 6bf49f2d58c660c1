package leakcheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A bound on goroutines by a function in which none can start is a mistake.
func TestEndToEndStarts(t *testing.T) {
	require.Slow(t)
	m := newScratchModule(t)
	want := startsOf(t, filepath.Join("testdata", "app", "starts", "starts.go"))
	var names []string
	for name := range want {
		names = append(names, name)
	}
	names = append(names, "starts", "starts.(*Pool)", "iter.Pull", "time.goFunc")
	for _, flags := range [][]string{nil, {"-gcflags=all=-N -l"}, {"-race"}} {
		out, _ := m.run(t, "starts", []string{"STARTS=" + strings.Join(names, " ")}, append([]string{"go", "test", "-count=1", "-v"}, append(flags, ".")...)...)
		said := make(map[string]string)
		for line := range strings.Lines(out) {
			if rest, ok := strings.CutPrefix(line, "RESULT "); ok {
				name, text, _ := strings.Cut(strings.TrimSpace(rest), " ")
				if said[name] += text; strings.Contains(text, "None") && strings.Contains(text, "no goroutine") != (want[name] != "") {
					t.Errorf("%v: %s: %s", flags, name, text)
				}
			}
		}
		for _, name := range names {
			if name == "starts.Hook" && strings.Contains(strings.Join(flags, " "), "-N") {
				continue // its closure is called as any func value is
			}
			switch text, inside := said[name], want[name]; {
			case inside == "" && text != "":
				t.Errorf("%v: %s: %s", flags, name, text)
			case inside != "" && (!strings.Contains(text, "no goroutine") || inside != "-" && !strings.Contains(text, inside+" (")):
				t.Errorf("%v: %s, which leads to %s: %q", flags, name, inside, text)
			}
		}
		if t.Failed() {
			t.Log("\n" + out)
			return
		}
	}
}

// startsOf returns the functions of a file, with the comment on the line where each begins, or ends
// if it has one line.
func startsOf(t *testing.T, file string) map[string]string {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, nil, parser.ParseComments)
	require.NoError(t, err)
	comments := make(map[int]string)
	for _, c := range f.Comments {
		comments[set.Position(c.Pos()).Line] = strings.TrimSpace(c.Text())
	}
	names := make(map[string]string)
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Name.Name == "Use" {
			continue
		}
		name := "starts." + fn.Name.Name
		if fn.Recv != nil {
			pointer, ok := fn.Recv.List[0].Type.(*ast.StarExpr)
			if !ok {
				continue
			}
			name = "starts.(*" + pointer.X.(*ast.Ident).Name + ")." + fn.Name.Name
		}
		names[name] = comments[set.Position(fn.Body.Lbrace).Line]
	}
	return names
}
