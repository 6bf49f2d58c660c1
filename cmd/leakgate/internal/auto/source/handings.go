package source

import (
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
)

// Handings returns what the callers of a function have to end: results, arguments, the receiver, or
// the call itself, which another function undoes. The function is named as in stack traces.
func (f *Finder) Handings(function string) []Handing {
	pkg := symbol.Package(function)
	known := f.of(pkg)
	if known == nil {
		return nil
	}
	for name := declaredName(function); name != ""; _, name, _ = strings.Cut(name, ".") {
		if d, ok := known.functions[name]; ok { // the first names may be of functions that it is inlined into
			return f.handings(pkg, known, d.file, d.decl)
		}
	}
	return nil
}

// Ends says how a caller ends the use of a type, given by its full name: "call Close of"; "" if it
// does not.
func (f *Finder) Ends(typ string) string {
	pkg, name := symbol.Split(typ)
	known := f.of(pkg)
	if known == nil || !known.ends[name].known() {
		return ""
	}
	return strings.TrimSpace(known.ends[name].how())
}

// A declaration is a function, and the file that declares it.
type declaration struct {
	file *ast.File
	decl *ast.FuncDecl
}

// functionsOf returns the functions that files declare, by name: "New", "Client.Do".
func functionsOf(files []*ast.File) map[string]declaration {
	found := make(map[string]declaration)
	for _, file := range files {
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				found[nameOf(fn)] = declaration{file, fn}
			}
		}
	}
	return found
}

// nameOf is the name of a function within its package: "Client.Do" for a method.
func nameOf(fn *ast.FuncDecl) string {
	if fn.Recv != nil && len(fn.Recv.List) == 1 {
		return typeName(fn.Recv.List[0].Type) + "." + fn.Name.Name
	}
	return fn.Name.Name
}

// declaredName returns the name within its package of the declared function that a function in a
// stack trace is, or lies in: "Client.Do" for "example.com/app.(*Client[...]).Do.func1".
func declaredName(function string) string {
	if i := strings.IndexByte(function, '['); i >= 0 {
		if end := strings.LastIndexByte(function, ']'); end > i {
			function = function[:i] + function[end+1:]
		}
	}
	_, name := symbol.Split(function)
	name = strings.NewReplacer("(*", "", ")", "").Replace(name)
	name = strings.TrimSuffix(name, "-fm")
	parts := strings.Split(name, ".")
	for i, p := range parts {
		if i > 0 && (strings.HasPrefix(p, "func") && strings.Trim(p[len("func"):], "0123456789") == "" || strings.HasPrefix(p, "gowrap") || strings.Trim(p, "0123456789") == "") {
			parts = parts[:i]
			break
		}
	}
	return strings.Join(parts[:min(len(parts), 2)], ".")
}

// handings is Handings of a declared function.
func (f *Finder) handings(pkg string, known *facts, file *ast.File, d *ast.FuncDecl) []Handing {
	full := pkg + "." + nameOf(d)
	short := pkg[strings.LastIndexByte(pkg, '/')+1:] + "." + nameOf(d)
	var all []Handing
	if d.Type.Results != nil {
		i := 0
		for _, field := range d.Type.Results.List {
			for range max(1, len(field.Names)) {
				if h, ok := f.resultHanding(pkg, known, file, field.Type, full, short); ok {
					h.result = i
					all = append(all, h)
				}
				i++
			}
		}
	}
	for _, field := range d.Type.Params.List {
		if what := passedEnd(field.Type); what != "" {
			for _, n := range field.Names {
				if n.Name != "_" {
					all = append(all, Handing{Key: full + "#" + n.Name, Text: what + " that it gives to " + short, result: -1, param: n.Name, call: "Passed"})
				}
			}
		}
	}
	if d.Recv != nil && len(d.Recv.List) == 1 {
		receiver := typeName(d.Recv.List[0].Type)
		of := []string{receiver}
		if !known.ends[receiver].known() {
			of = known.owners[receiver]
		}
		for _, typ := range of {
			if e := known.ends[typ]; e.known() {
				h := Handing{Receiver: pkg + "." + typ, Text: e.how() + "its *" + pkg[strings.LastIndexByte(pkg, '/')+1:] + "." + typ, result: -1}
				if e.seen {
					h.Key = pkg + "." + typ
				}
				all = append(all, h)
			}
		}
	}
	if u, ok := known.undo[nameOf(d)]; ok {
		all = append(all, Handing{
			Key: full, Text: "call " + u.by[0] + " for each " + d.Name.Name, result: -1, call: "Did", Container: u.container,
		})
	}
	return all
}

// resultHanding returns what a caller is to do with a result of a type.
func (f *Finder) resultHanding(pkg string, known *facts, file *ast.File, typ ast.Expr, full, short string) (Handing, bool) {
	h := Handing{Key: full, call: "Made"}
	if fn, ok := typ.(*ast.FuncType); ok {
		if fn.Params.NumFields() > 0 {
			return h, false
		}
		h.Text = "call the function that " + short + " returns"
		if n := fn.Results.NumFields(); n > 1 || n == 1 && !isIdent(fn.Results.List[0].Type, "error") {
			return h, false
		}
		h.call = "MadeFunc"
		return h, true
	}
	if end := standardEnd(typ); end != "" {
		h.Text = end + " of what " + short + " returns"
		_, isPointer := typ.(*ast.StarExpr)
		switch {
		case isPointer && end == bodyEnd:
			h.call = "MadeBody"
		case isPointer:
			h.Key, h.call = "", ""
		}
		return h, true
	}
	if sel, ok := typ.(*ast.SelectorExpr); ok && isIdent(sel.X, "context") && (sel.Sel.Name == "CancelFunc" || sel.Sel.Name == "Context") {
		if sel.Sel.Name == "Context" {
			return h, false
		}
		h.Text, h.call = "call the cancel function that "+short+" returns", "MadeFunc"
		return h, true
	}
	of, name := pkg, typeName(typ)
	facts := known
	if name == "" {
		if of, name = imported(file, typ); of != "" {
			facts = f.of(of)
		}
	}
	if facts == nil || name == "" {
		return h, false
	}
	e := facts.ends[name]
	if !e.known() {
		return h, false
	}
	h.Text = e.how() + "the " + of[strings.LastIndexByte(of, '/')+1:] + "." + name + " that " + short + " returns"
	switch {
	case !e.seen:
		h.Key, h.call = "", ""
	case e.function != "":
		h.call, h.fields = "MadeWithFunc", []string{e.function}
	case e.value && len(e.fields) == 0:
		h.Key = of + "." + name
		if _, isPointer := typ.(*ast.StarExpr); !isPointer {
			h.call = "MadeValue"
		}
	case e.channel != "":
		h.call, h.fields = "MadeField", append(slices.Clone(e.fields), e.channel)
	case len(e.fields) > 0:
		h.call, h.fields = "MadeField", e.fields
	}
	return h, true
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// passedEnd says what a caller ends of a parameter of a type: a context, something to close, a
// channel that is received from; "" for others.
func passedEnd(typ ast.Expr) string {
	switch t := typ.(type) {
	case *ast.ChanType:
		if t.Dir&ast.RECV != 0 {
			return "close the channel"
		}
	case *ast.StarExpr:
		if end := standardEnd(t.X); end != "" {
			return end + " of the " + t.X.(*ast.SelectorExpr).Sel.Name
		}
	case *ast.SelectorExpr:
		if isIdent(t.X, "context") && t.Sel.Name == "Context" {
			return "cancel the context"
		}
		if end := standardEnd(typ); end != "" {
			return end + " of the " + t.Sel.Name
		}
	}
	return ""
}

// imported returns the package and the name of a type of another package.
func imported(file *ast.File, typ ast.Expr) (pkg, name string) {
	switch t := typ.(type) {
	case *ast.StarExpr:
		return imported(file, t.X)
	case *ast.IndexExpr:
		return imported(file, t.X)
	case *ast.IndexListExpr:
		return imported(file, t.X)
	case *ast.SelectorExpr:
		x, ok := t.X.(*ast.Ident)
		if !ok {
			return "", ""
		}
		for _, i := range file.Imports {
			p, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				continue
			}
			if i.Name != nil && i.Name.Name == x.Name || i.Name == nil && (path.Base(p) == x.Name || path.Base(path.Dir(p)) == x.Name) {
				return p, t.Sel.Name
			}
		}
	}
	return "", ""
}
