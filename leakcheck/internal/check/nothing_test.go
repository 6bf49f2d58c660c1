package check

import (
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// A selector that matches nothing is a mistake unless the program has what it names. The words say
// how it is written right.
func TestNothingMeant(t *testing.T) {
	root, path, typ := request.RootSelector, request.PathSelector, request.TypeNamedSelector
	server := &debuginfo.MissingField{Name: "cons", Struct: "example.com/app.Server", Fields: []string{"conns", "pool", "pool.idle"}}
	promoted := &debuginfo.MissingField{Path: ".state", Name: "idle", Struct: "struct { example.com/app.pool }", Fields: server.Fields}
	unlike := &debuginfo.MissingField{Name: "sessions", Struct: "example.com/app.Server", Fields: []string{"a", "b"}}
	for _, tt := range []struct {
		selector request.Selector
		missing  map[string]*debuginfo.MissingField
		scope    string
		want     string // "": no mistake
	}{
		{root("app.sessions"), nil, "", ""},
		{root("app.sessions"), nil, "example.com/app", ""},
		{root("app.sessions"), nil, "net", "opt: example.com/app.sessions lies outside of the Scope of this assertion"},
		{path("app.sessions[*].buf"), nil, "net", "opt: example.com/app.sessions[*].buf lies outside of the Scope of this assertion"},
		{typ("app.Session"), nil, "net", ""},
		{root("app.srv"), nil, "", ""},
		{path("app.srv.conns"), nil, "", ""},
		{typ("os.File"), nil, "", ""},
		{
			root("app.sessoins"), nil, "", "opt: the program has no package variable or function of that name; did you mean example.com/app.sessions?" +
				"\n    (the linker drops variables that nothing uses, the compiler the names of some in functions)",
		},
		{root("app.srv.conns"), nil, "", `opt: the program has no package variable or function of that name, but one with such a field: write Path("app.srv.conns")`},
		{root("app.srv.conns[3]"), nil, "", `opt: the program has no package variable or function of that name, but one with such a field: write Path("app.srv.conns[*]")`},
		{typ("app.Handler"), nil, "", "opt: only function types and interfaces have such a name, and no object has such a type: a closure has the type of its function, " +
			"an interface holds an object of another type; bound what holds it with Root or Path"},
		{typ("app.Sesion"), nil, "", "opt: the program has no such type; did you mean example.com/app.Session?\n    (Type[T]() is checked by the compiler)"},
		{typ("app.Serve.func3"), nil, "", "opt: the program has no such type\n    (a closure has the type \"func import/path.Func.func1\", and its number changes with the code beside it: TypeNamed(\"func app.Func.func*\"))"},
		{typ("func app.Serve"), nil, "", "opt: the program has no such type\n    (a closure has the type \"func import/path.Func.func1\", and its number changes with the code beside it: TypeNamed(\"func app.Func.func*\"))"},
		{path("app.srv.cons[*].buf"), map[string]*debuginfo.MissingField{"example.com/app.srv.cons[*].buf": server}, "", "opt: app.srv has no field cons; did you mean app.srv.conns?"},
		{path("app.srv.state.idle"), map[string]*debuginfo.MissingField{"example.com/app.srv.state.idle": promoted}, "", "opt: app.srv.state has no field idle; did you mean app.srv.state.pool.idle?"},
		{path("app.srv.sessions"), map[string]*debuginfo.MissingField{"example.com/app.srv.sessions": unlike}, "", "opt: app.srv has no field sessions; its fields are: a, b"},
	} {
		n := appNames
		n.Missing = tt.missing
		var s tree.Scope
		if tt.scope != "" {
			s = scopeOf(t, tt.scope)
		}
		at := &Seen{Observation: &observe.Observation{Names: n}, Everything: tree.GrowForest(report(sessions(2)))}
		assert.Equal(t, tt.want, NothingMeant("opt", &tt.selector, s, at), tt.selector.Shown)
	}
}
