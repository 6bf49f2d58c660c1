package source

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
)

// CallAt returns the file:line of the last call of a function up to a file:line that it may return
// to, which is that of the next statement if the results are used there. It returns at if there is
// no such call.
func CallAt(at, function string) string {
	i := strings.LastIndexByte(at, ':')
	line, err := strconv.Atoi(at[i+1:])
	if i < 0 || err != nil {
		return at
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, at[:i], nil, parser.SkipObjectResolution)
	if err != nil {
		return at
	}
	_, name := symbol.Split(function)
	name, _, _ = strings.Cut(name[strings.LastIndexByte(name, '.')+1:], "[")
	best := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			called := ""
			switch f := call.Fun.(type) {
			case *ast.SelectorExpr:
				called = f.Sel.Name
			case *ast.Ident:
				called = f.Name
			}
			if l := set.Position(call.Rparen).Line; called == name && l <= line {
				best = max(best, set.Position(call.Fun.End()).Line)
			}
		}
		return true
	})
	if best == 0 {
		return at
	}
	return fmt.Sprintf("%s:%d", at[:i], best)
}
