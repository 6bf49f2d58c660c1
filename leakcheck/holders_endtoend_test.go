package leakcheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A bound on a type whose objects only a dead variable held passes, and its log says so.
func TestEndToEndHolders(t *testing.T) {
	require.Slow(t)
	m := newScratchModule(t)
	said := regexp.MustCompile(`(\S+) is not used after this line \(holders_test\.go:(\d+)\)`)
	for _, flags := range [][]string{nil, {"-gcflags=all=-N -l"}, {"-race"}} {
		out, ok := m.run(t, "holders", nil, append([]string{"go", "test", "-count=1", "-v"}, append(flags, ".")...)...)
		if !ok {
			t.Fatalf("%v\n%s", flags, out)
		}
		got := make(map[string]string)
		for part := range strings.SplitSeq(out, "=== RUN   ") {
			name, rest, _ := strings.Cut(part, "\n")
			for _, match := range said.FindAllStringSubmatch(rest, -1) {
				name, _, _ = strings.Cut(name, "/")
				got[name] = match[1]
			}
		}
		for name, want := range deadHolders(t, filepath.Join("testdata", "app", "holders", "holders_test.go")) {
			if got[name] != want {
				t.Errorf("%v: %s: said of %q, want %q", flags, name, got[name], want)
			}
		}
		if t.Failed() {
			t.Log("\n" + out)
		}
	}
}

// deadHolders returns the variable that the log of each test has to name, which a comment behind
// its function's beginning tells; "" if it must name none.
func deadHolders(t *testing.T, file string) map[string]string {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, nil, parser.ParseComments)
	require.NoError(t, err)
	names := make(map[string]string)
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(fn.Name.Name, "Test") {
			continue
		}
		names[fn.Name.Name] = ""
		for _, c := range f.Comments {
			if fn.Body.Lbrace < c.Pos() && c.Pos() < fn.Body.End() {
				names[fn.Name.Name] = strings.TrimSpace(c.Text())
			}
		}
	}
	return names
}
