package source

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// An undoing is the functions that undo what another function does.
type undoing struct {
	by []string
	// what they undo is an entry of a container: nothing but a parameter, such as a name, tells
	// that they belong together
	container bool
}

// pairs has, for what the names of functions begin with, what the names of those begin with that
// undo what they do, in lower case.
var pairs = map[string][]string{
	"subscribe": {"unsubscribe"}, "register": {"unregister", "deregister"}, "attach": {"detach"}, "watch": {"unwatch"}, "notify": {"stop"},
	"acquire": {"release", "put", "return"}, "borrow": {"return", "giveback"}, "checkout": {"checkin"}, "lease": {"release"}, "join": {"leave"},
	"connect": {"disconnect"}, "start": {"stop", "shutdown"}, "open": {"close"}, "schedule": {"unschedule", "cancel"}, "track": {"untrack"},
	"bind": {"unbind"}, "mount": {"unmount"}, "login": {"logout"}, "enter": {"exit", "leave"}, "listen": {"unlisten"}, "begin": {"end", "commit"},
	"lock": {"unlock"}, "pin": {"unpin"}, "init": {"shutdown", "destroy"}, "run": {"stop"},
}

// undoers begin the names of functions that undo what others do that have a parameter or result of
// the same type as one of their parameters.
var undoers = []string{
	"un", "dereg", "detach", "remove", "delete", "del", "release", "stop", "close", "cancel", "end", "free", "return", "put", "off", "disconnect",
	"leave", "logout", "destroy", "discard", "drop", "forget", "evict", "giveback", "checkin", "clear",
}

// undoingOf finds, for each function of a package that another one undoes, which one.
func undoingOf(functions map[string]declaration) map[string]undoing {
	found := make(map[string]undoing)
	for undoName, undo := range functions {
		lower := strings.ToLower(undo.decl.Name.Name)
		undoes := slices.ContainsFunc(undoers, func(p string) bool { return strings.HasPrefix(lower, p) })
		scope := strings.TrimSuffix(undoName, undo.decl.Name.Name)
		for name, do := range functions {
			if name == undoName || strings.TrimSuffix(name, do.decl.Name.Name) != scope {
				continue
			}
			paired := arePaired(strings.ToLower(do.decl.Name.Name), lower)
			same, named := sharedType(do.decl.Type, undo.decl)
			if !paired && !(undoes && same) {
				continue
			}
			u := found[name]
			container := !paired && !named
			if container && scope == "" {
				continue // a package has many functions of a string
			}
			u.container = container && (u.container || len(u.by) == 0)
			u.by = append(u.by, undo.decl.Name.Name)
			slices.Sort(u.by)
			found[name] = u
		}
	}
	return found
}

func arePaired(do, undo string) bool {
	for prefix, others := range pairs {
		rest, ok := strings.CutPrefix(do, prefix)
		if ok && slices.ContainsFunc(others, func(o string) bool { return o+rest == undo }) {
			return true
		}
	}
	return false
}

// sharedType reports whether a parameter of undo has the type of a parameter or result of do, and
// whether that is a type of the package's, a channel or a function, or what do returns and undo
// picks an element by: of anything else, such as a string, a function may have many for other
// reasons.
func sharedType(do *ast.FuncType, undo *ast.FuncDecl) (same, named bool) {
	for _, p := range undo.Type.Params.List {
		text := types.ExprString(p.Type)
		if text == "error" || text == "context.Context" || text == "bool" {
			continue
		}
		has := func(list *ast.FieldList) bool {
			return list != nil && slices.ContainsFunc(list.List, func(f *ast.Field) bool { return types.ExprString(f.Type) == text })
		}
		if has(do.Params) || has(do.Results) {
			same = true
			named = named || !isBasic(p.Type) || !has(do.Params) && slices.ContainsFunc(p.Names, func(n *ast.Ident) bool { return picks(undo, n.Name) })
		}
	}
	return same, named
}

func isBasic(t ast.Expr) bool {
	switch t := t.(type) {
	case *ast.Ident:
		return types.Universe.Lookup(t.Name) != nil
	case *ast.ArrayType, *ast.InterfaceType:
		return true
	}
	return false
}

// undoes returns the names of functions whose effect a function undoes.
func (f *facts) undoes(d *ast.FuncDecl) (names []string) {
	scope := strings.TrimSuffix(nameOf(d), d.Name.Name)
	for name, u := range f.undo {
		if slices.Contains(u.by, d.Name.Name) && strings.TrimSuffix(name, f.functions[name].decl.Name.Name) == scope {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
