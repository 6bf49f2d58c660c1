package source

import (
	"go/ast"
	"slices"
	"strings"
)

// names are methods that end the use of their receiver, in lower case: both Shutdown and ShutDown
// occur, and tests within a package call stop as well as Stop.
var names = []string{
	"close", "stop", "shutdown", "shutdownwithdrain", "cancel", "stopandwait", "terminate", "gracefulstop", "quit", "halt", "dispose",
	"destroy", "disconnect", "drain", "release",
}

// Method returns the method that ends the use of a type; "" if there is none, or if the type is of
// no module here. typ is a full name, which may begin with "*" and end in type arguments.
func (f *Finder) Method(typ string) string {
	typ = strings.TrimLeft(typ, "*")
	typ, _, _ = strings.Cut(typ, "[")
	dot := strings.LastIndexByte(typ, '.')
	if dot < 0 || strings.ContainsAny(typ, " {(") {
		return ""
	}
	known := f.of(typ[:dot])
	if known == nil {
		return ""
	}
	return known.methods[typ[dot+1:]]
}

// ends reports whether a method ends the use of its receiver: by its name, or as a Wait that closes
// a channel, from which the goroutines of a pool learn that nothing more comes. Any other Wait, for
// example that of errgroup, waits for goroutines that may leak.
func ends(m *ast.FuncDecl) bool {
	name := strings.ToLower(m.Name.Name)
	if name != "wait" || m.Body == nil {
		return slices.Contains(names, name)
	}
	closes := false
	ast.Inspect(m.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			function, ok := call.Fun.(*ast.Ident)
			closes = closes || ok && function.Name == "close"
		}
		return !closes
	})
	return closes
}

// methods returns, for each type, the first of its methods that ends.
func methods(files []*ast.File) map[string]string {
	found := make(map[string]string)
	for _, file := range files {
		for _, d := range file.Decls {
			if m, ok := d.(*ast.FuncDecl); ok && m.Recv != nil && len(m.Recv.List) == 1 && ends(m) {
				if receiver := typeName(m.Recv.List[0].Type); found[receiver] == "" {
					found[receiver] = m.Name.Name
				}
			}
		}
	}
	return found
}
