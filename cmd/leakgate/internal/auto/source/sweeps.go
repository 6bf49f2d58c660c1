package source

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/symbol"
)

// seen is the age up to which AssertNoGrowth waits for what goes as time goes on
// (leakcheck/internal/growth/wording/window.go).
const seen = 12 * time.Second

// Sweeps returns the function of a package that goes through a container, given by the name of its
// variable or field, and takes out what is older than AssertNoGrowth waits for; "" if there is none
// that code other than tests uses. It compares names only.
func (f *Finder) Sweeps(pkg, container string) string {
	known := f.of(pkg)
	if known == nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(known.functions)) {
		d := known.functions[name].decl
		s := sweep{container: container, values: maps.Clone(known.values)}
		ast.Inspect(d.Body, s.look)
		if known.used[d.Name.Name] && s.loops && s.removes && s.looksAtTime && (s.later || !s.sooner) {
			return symbol.LastElement(pkg) + "." + name
		}
	}
	return ""
}

// A sweep is what the body of a function does to a container.
type sweep struct {
	container string
	values    map[string]ast.Expr // of constants and variables that have one, by name

	loops, removes, looksAtTime bool
	sooner, later               bool // it compares with a time that AssertNoGrowth waits for, or not
}

func (s *sweep) look(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.RangeStmt:
		s.loops = s.loops || lastName(n.X) == s.container
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			if id, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE && len(n.Lhs) == len(n.Rhs) {
				s.values[id.Name] = n.Rhs[i]
			}
			s.removes = s.removes || n.Tok == token.ASSIGN && lastName(left) == s.container
		}
	case *ast.CallExpr:
		s.call(n)
	case *ast.BinaryExpr:
		if n.Op == token.LSS || n.Op == token.GTR || n.Op == token.LEQ || n.Op == token.GEQ {
			s.compare(n.X, n.Y)
			s.compare(n.Y, n.X)
		}
	}
	return true
}

// removers begin the names of functions that take something out of a container.
var removers = []string{"delete", "remove", "evict", "expire", "drop", "purge"}

func (s *sweep) call(c *ast.CallExpr) {
	name := strings.ToLower(lastName(c.Fun))
	s.removes = s.removes || slices.ContainsFunc(removers, func(r string) bool { return strings.HasPrefix(name, r) })
	if sel, ok := c.Fun.(*ast.SelectorExpr); ok {
		s.loops = s.loops || name == "range" && lastName(sel.X) == s.container
		s.looksAtTime = s.looksAtTime || isIdent(sel.X, "time") && (name == "now" || name == "since" || name == "until")
		s.later = s.later || name == "after" || name == "before"
	}
}

// compare notes how long ago a time is with which something is compared.
func (s *sweep) compare(age, with ast.Expr) {
	call, ok := age.(*ast.CallExpr)
	if !ok {
		return
	}
	switch lastName(call.Fun) {
	case "Sub", "Since", "Until":
		d, ok := s.duration(with, 0)
		s.sooner = s.sooner || ok && d <= seen
		s.later = s.later || !ok || d > seen
	}
}

// duration returns the value of an expression of constants, and of variables that begin with one.
func (s *sweep) duration(e ast.Expr, depth int) (time.Duration, bool) {
	const deep = 8
	if depth > deep {
		return 0, false
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return s.duration(e.X, depth+1)
	case *ast.BasicLit:
		n, err := strconv.ParseInt(e.Value, 0, 64)
		return time.Duration(n), err == nil
	case *ast.SelectorExpr:
		unit, ok := units[e.Sel.Name]
		return unit, ok && isIdent(e.X, "time")
	case *ast.Ident:
		if value := s.values[e.Name]; value != nil {
			return s.duration(value, depth+1)
		}
	case *ast.BinaryExpr:
		x, okX := s.duration(e.X, depth+1)
		y, okY := s.duration(e.Y, depth+1)
		return x * y, okX && okY && e.Op == token.MUL
	}
	return 0, false
}

var units = map[string]time.Duration{
	"Nanosecond": 1, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour,
}

// valuesOf returns the values with which files declare constants and variables.
func valuesOf(files []*ast.File) map[string]ast.Expr {
	found := make(map[string]ast.Expr)
	for _, file := range files {
		for _, d := range file.Decls {
			general, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range general.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && len(v.Names) == len(v.Values) {
					for i, n := range v.Names {
						found[n.Name] = v.Values[i]
					}
				}
			}
		}
	}
	return found
}

// lastName is the name of a variable, or of the last field or method of a selector.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.IndexExpr:
		return lastName(e.X)
	case *ast.StarExpr:
		return lastName(e.X)
	case *ast.ParenExpr:
		return lastName(e.X)
	}
	return ""
}
