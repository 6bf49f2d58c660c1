package debuginfo

import (
	"reflect"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
)

// An Inventory is what the debug information knows of a program, and the names of roots that a scan
// has found.
type Inventory struct {
	Index *Index
	Found []string
}

// PackageNames maps import paths to package names, for the program's packages whose import path
// ends in something other than the name: "github.com/patrickmn/go-cache" to "cache".
func (p *Inventory) PackageNames() map[string]string { return p.Index.PackageNames() }

// RootNames lists the names that a bound on a root may use: the roots found, and every package
// variable of the program, whether or not it holds anything.
func (p *Inventory) RootNames() []string {
	names := p.Found[:len(p.Found):len(p.Found)]
	for _, g := range p.Index.Globals() {
		if g.Type != 0 {
			names = append(names, g.Name)
		}
	}
	return names
}

// KnownRoot reports whether match holds for the name of any root that the program could have: those
// of RootNames, the runtime's, symbols of C, as "C.name", and the variables of functions, written
// "import/path.Func.var".
func (p *Inventory) KnownRoot(match func(name string) bool) bool {
	for _, name := range p.RootNames() {
		if match(name) {
			return true
		}
	}
	for _, name := range symbol.RuntimeRoots {
		if match(name) {
			return true
		}
	}
	for _, g := range p.Index.Globals() {
		if g.Type == 0 && (match(g.Name) || match("C."+g.Name)) {
			return true
		}
	}
	for _, f := range p.Index.Funcs() {
		if match(f.Name+temporary) || match(f.Name+deferred) { // in no variable
			return true
		}
	}
	known := false
	p.locals(func(name string, _ *Local) bool {
		known = match(name)
		return !known
	})
	return known
}

// temporary and deferred end the names of the roots that stand for values of functions without a
// variable.
const (
	temporary = "." + symbol.Temporary
	deferred  = "." + symbol.Deferred
)

// locals calls visit for the variables of functions, until it returns false.
func (p *Inventory) locals(visit func(name string, l *Local) bool) {
	for _, f := range p.Index.Funcs() {
		for _, l := range p.Index.Locals(f.Entry) {
			if len(l.Ranges) == 0 {
				continue
			}
			owner := f.Name
			if l.Inline != "" {
				owner = l.Inline
			}
			if !visit(owner+"."+l.Name, &l) {
				return
			}
		}
	}
}

// KnownType reports whether match holds for the name of any type of the program (known), and
// whether it does for one that objects have (ofObjects). No object has the type of an interface or
// of a function: an interface holds an object of another type, and a closure has the type of its
// function, "func import/path.Func.func1".
func (p *Inventory) KnownType(match func(name string) bool) (known, ofObjects bool) {
	for id := 1; id <= p.Index.NumTypes(); id++ {
		t := p.Index.TypeHead(TypeID(id))
		if match(t.Name) {
			if known = true; t.Kind != reflect.Interface && t.Kind != reflect.Func {
				return true, true
			}
		}
	}
	for _, f := range p.Index.Funcs() {
		if match("func " + f.Name) {
			return true, true
		}
	}
	return known, false
}

// TypeNames lists the types of the program, with full import paths.
func (p *Inventory) TypeNames() []string {
	names := make([]string, 0, p.Index.NumTypes())
	for id := 1; id <= p.Index.NumTypes(); id++ {
		names = append(names, p.Index.Type(TypeID(id)).Name)
	}
	return names
}

// Declaration returns where a package variable or a struct's field ("import/path.Type.field") is
// declared, or the function of a temporary value; "" and 0 if that is not known. See
// debuginfo.Declaration for the cost.
func (p *Inventory) Declaration(name string) (file string, line int) {
	if function, ok := strings.CutSuffix(name, temporary); ok {
		for _, f := range p.Index.Funcs() {
			if f.Name == function {
				return f.File, f.Line
			}
		}
	}
	if g, ok := p.Index.GlobalByName(name); ok {
		return Declaration(p.Index, g)
	}
	pkg, member := symbol.Split(name)
	typ, field, ok := strings.Cut(member, ".")
	if !ok {
		return "", 0
	}
	return FieldDeclaration(p.Index, pkg, typ, field)
}
