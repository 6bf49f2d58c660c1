package refscan

import (
	"reflect"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// RootNames lists the names that a bound on a root may use: the roots of the report, and every
// package variable of the program, whether or not it holds anything.
func (r *Report) RootNames() []string {
	var names []string
	for _, n := range r.Roots {
		names = append(names, n.Name)
	}
	if r.index != nil {
		for _, g := range r.index.Globals() {
			if g.Type != 0 {
				names = append(names, g.Name)
			}
		}
	}
	return names
}

// KnownRoot reports whether match holds for the name of any root that the program could have: those
// of RootNames, and the variables of functions, written "import/path.Func.var".
func (r *Report) KnownRoot(match func(name string) bool) bool {
	for _, name := range r.RootNames() {
		if match(name) {
			return true
		}
	}
	if r.index == nil {
		return false
	}
	for _, f := range r.index.Funcs() {
		if match(f.Name + ".$tmp") { // frame slots that belong to no variable
			return true
		}
		for _, l := range r.index.Locals(f.Entry) {
			owner := f.Name
			if l.Inline != "" {
				owner = l.Inline
			}
			if match(owner + "." + l.Name) {
				return true
			}
		}
	}
	return false
}

// Declaration returns where a package variable is declared, "" and 0 if that is not known. The
// compiler does not record it. So Declaration reads the package's sources, if they are available:
// it takes some milliseconds, and is meant for messages.
func (r *Report) Declaration(variable string) (file string, line int) {
	return declaration(r.index, variable)
}

func declaration(x *debuginfo.Index, variable string) (file string, line int) {
	if x == nil {
		return "", 0
	}
	g, ok := x.GlobalByName(variable)
	if !ok {
		return "", 0
	}
	return debuginfo.Declaration(x, g)
}

// PackageNames maps import paths to package names, for the program's packages whose import path
// ends in something other than the name: "github.com/patrickmn/go-cache" to "cache".
func (r *Report) PackageNames() map[string]string { return packageNames(r.index) }

// PackageNames returns what Report.PackageNames returns, and needs no report.
func (s *Snapshot) PackageNames() map[string]string { return packageNames(s.in().Index()) }

func packageNames(x *debuginfo.Index) map[string]string {
	if x == nil {
		return nil
	}
	return x.PackageNames()
}

// KnownType reports whether match holds for the name of any type of the program (known), and
// whether it does for one that objects have (ofObjects). No object has the type of an interface or
// of a function: an interface holds an object of another type, and a closure has the type of its
// function, "func import/path.Func.func1".
func (r *Report) KnownType(match func(name string) bool) (known, ofObjects bool) {
	if r.index == nil {
		return false, false
	}
	for id := 1; id <= r.index.NumTypes(); id++ {
		t := r.index.TypeHead(debuginfo.TypeID(id))
		if match(t.Name) {
			if known = true; t.Kind != reflect.Interface && t.Kind != reflect.Func {
				return true, true
			}
		}
	}
	for _, f := range r.index.Funcs() {
		if match("func " + f.Name) {
			return true, true
		}
	}
	return known, false
}

// TypeNames lists the types of the program, with full import paths.
func (r *Report) TypeNames() []string {
	if r.index == nil {
		return nil
	}
	names := make([]string, 0, r.index.NumTypes())
	for id := 1; id <= r.index.NumTypes(); id++ {
		names = append(names, r.index.Type(debuginfo.TypeID(id)).Name)
	}
	return names
}
