package leakvet

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// checkHolders finds bounds on a type whose objects only a variable of the test holds that is not
// used any more: then they are garbage, however many the code under test keeps.
func checkHolders(pass *analysis.Pass, f *function) {
	f.calls(func(call *ast.CallExpr) {
		if callee(pass.TypesInfo, call) != "AssertRetained" {
			return
		}
		for _, o := range options(pass.TypesInfo, call, 1) {
			if o.name != "Type" {
				continue
			}
			bounded := typeArgument(pass.TypesInfo, o.call)
			for _, v := range f.holders(pass.TypesInfo, call) {
				if bounded != nil && leadsTo(v.Type(), bounded) {
					pass.ReportRangef(call, "%s is not used after this line: what only it holds is garbage, and the bound on %s passes; runtime.KeepAlive(%[1]s) behind it keeps it to be judged",
						v.Name(), types.TypeString(bounded, types.RelativeTo(pass.Pkg)))
					return
				}
			}
		}
	})
}

// typeArgument returns T of a call Type[T](), nil if there is none.
func typeArgument(info *types.Info, call *ast.CallExpr) types.Type {
	index, ok := ast.Unparen(call.Fun).(*ast.IndexExpr)
	if !ok {
		return nil
	}
	return info.TypeOf(index.Index)
}

// holders returns the variables that f declares and does not use after a call of its own. It leaves
// out those that something else may have, since they are given away or captured, and those that a
// method ends the use of: they may have goroutines.
func (f *function) holders(info *types.Info, call *ast.CallExpr) (found []*types.Var) {
	ast.Inspect(f.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.Ident:
			v, ok := info.Defs[n].(*types.Var)
			if ok && n.Pos() < call.Pos() && f.useAfter(info, v, call.End()) == nil && f.keepsToItself(info, v) &&
				!hasEnd(v.Type()) && !f.repeats(call, v) {
				found = append(found, v)
			}
		}
		return true
	})
	return found
}

// keepsToItself reports whether all uses of a variable are calls of its methods, fields of it, and
// assignments to it.
func (f *function) keepsToItself(info *types.Info, v *types.Var) bool {
	all, own := 0, 0
	ast.Inspect(f.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			if uses(info, n, v) {
				all++
			}
			return false
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if variable(info, left) == v {
					own++
				}
			}
		case *ast.GoStmt:
			if uses(info, n, v) {
				all++
			}
		case *ast.CallExpr:
			if s, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr); ok && variable(info, s.X) == v {
				own++
			}
		case *ast.SelectorExpr:
			if s := info.Selections[n]; s != nil && s.Kind() == types.FieldVal && variable(info, n.X) == v {
				own++
			}
		case *ast.Ident:
			if info.Uses[n] == v {
				all++
			}
		}
		return true
	})
	return all == own && all > 0
}

// repeats reports whether a call lies in a loop that a variable is declared outside of: the next
// iteration may use it.
func (f *function) repeats(call *ast.CallExpr, v *types.Var) bool {
	found := false
	ast.Inspect(f.body, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			within := func(pos token.Pos) bool { return n.Pos() <= pos && pos < n.End() }
			found = found || within(call.Pos()) && !within(v.Pos())
		}
		return true
	})
	return found
}

// ends are methods that end the use of a value.
var ends = []string{"Close", "Stop", "Shutdown", "Cancel"}

// hasEnd reports whether a type has a method that ends the use of its values.
func hasEnd(t types.Type) bool {
	for _, name := range ends {
		if object, _, _ := types.LookupFieldOrMethod(t, true, nil, name); object != nil {
			return true
		}
	}
	return false
}

// leadsTo reports whether a value of a type, if it is no object of the bounded type itself, leads
// to such objects by fields, elements and pointers.
func leadsTo(from, bounded types.Type) bool {
	bounded = object(bounded)
	if types.Identical(object(from), bounded) {
		return false
	}
	seen := make(map[types.Type]bool)
	var leads func(t types.Type) bool
	leads = func(t types.Type) bool {
		t = types.Unalias(t)
		if types.Identical(t, bounded) {
			return true
		}
		if seen[t] {
			return false
		}
		seen[t] = true
		switch u := t.Underlying().(type) {
		case *types.Pointer:
			return leads(u.Elem())
		case *types.Slice:
			return leads(u.Elem())
		case *types.Array:
			return leads(u.Elem())
		case *types.Chan:
			return leads(u.Elem())
		case *types.Map:
			return leads(u.Key()) || leads(u.Elem())
		case *types.Struct:
			for field := range u.Fields() {
				if leads(field.Type()) {
					return true
				}
			}
		}
		return false
	}
	return leads(from)
}

// object returns the type of the objects that a bound on a type means: T and *T are the same.
func object(t types.Type) types.Type {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		return p.Elem()
	}
	return types.Unalias(t)
}
