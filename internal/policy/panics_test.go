package policy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strings"
	"testing"
)

// allowedPanics lists calls of panic in packages that users' test binaries link, by "folder/file.go
// function", with the reason. A mistake of the user, or the contents of a snapshot, lead to an
// error and never to a panic.
var allowedPanics = map[string]string{
	"leakcheck/internal/environ/testing.go NeedT":      "without a test there is nothing to fail, and what was found would be lost; testify panics there, too",
	"internal/engine/memory/parallel/do.go Do":         "a panic of a worker goes on in the goroutine that waits for it, which recovers from it (refscan.(*Snapshot).Scan)",
	"internal/engine/memory/offheap/map.go Make":       "memory that is refused ends the scan, whose caller recovers from it (snapshot.Guard); memory of the heap in its place would end the process",
	"internal/engine/memory/offheap/map.go Ask":        "the same, for memory of the heap that is still to be taken",
	"internal/engine/heap/heaptype/table.go done":      "a panic goes on, after the types that were half made are forgotten",
	"internal/engine/runtime/goruntime/time.go InTime": "the deadline ends the scan, whose caller recovers from it (snapshot.Guard), as from memory that is refused",
}

func TestNoPanics(t *testing.T) {
	used := make(map[string]bool)
	files := trackedFiles(t)
	for _, folder := range linkedFolders(t) {
		for _, file := range files {
			if path.Dir(file) != folder || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				continue
			}
			fset, decls := declarations(t, file)
			for _, decl := range decls {
				place := file
				if f, ok := decl.(*ast.FuncDecl); ok {
					place = fmt.Sprintf("%s %s", file, f.Name.Name)
				}
				for _, pos := range panicCalls(decl) {
					if used[place] = true; allowedPanics[place] == "" {
						t.Errorf("%s: panic in a linked package: return an error, or list %q with a reason", fset.Position(pos), place)
					}
				}
			}
		}
	}
	for place := range allowedPanics {
		if !used[place] {
			t.Errorf("no panic in %q any more: take it out of the list", place)
		}
	}
}

// declarations parses a file of the repository. If that fails, the test fails.
func declarations(t *testing.T, file string) (*token.FileSet, []ast.Decl) {
	t.Helper()
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, readFile(t, file), parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return fset, nil
	}
	return fset, parsed.Decls
}

func panicCalls(decl ast.Decl) (calls []token.Pos) {
	ast.Inspect(decl, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "panic" {
				calls = append(calls, call.Pos())
			}
		}
		return true
	})
	return calls
}
