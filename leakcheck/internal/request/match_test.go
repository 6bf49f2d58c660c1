package request_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/reporttest"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// A bound on a name that the program does not have is known to be one.
func TestKnown(t *testing.T) {
	field := &debuginfo.MissingField{Name: "cons", Struct: "example.com/app.Server"}
	n := reporttest.Names{
		Roots: []string{"example.com/app.sessions", "example.com/app.srv", "example.com/app.(*pool).run"},
		Types: []string{"example.com/app.Session", "func example.com/app.run.func1"}, Hollow: []string{"example.com/app.Handler"},
		Missing: map[string]*debuginfo.MissingField{"example.com/app.srv.cons[*]": field},
	}
	for _, c := range []struct {
		selector request.Selector
		want     bool
	}{
		{root("app.sessions"), true},
		{root("app.sesions"), false},
		{root("app.(*pool).run"), true},
		{root("app.srv.conns"), false},
		{root("libc.so.6.state"), true},
		{request.PathSelector("app.srv.conns"), true},
		{request.PathSelector("app.server.conns"), false},
		{request.TypeSelector(reflect.TypeFor[*session]()), true},
		{request.TypeNamedSelector("app.Session"), true},
		{request.TypeNamedSelector("app.Sesion"), false},
		{request.TypeNamedSelector("app.Handler"), false},
		{request.TypeNamedSelector("*app.Handler"), true},
		{request.TypeNamedSelector("app.run.func1"), false},
		{request.TypeNamedSelector("func app.run.func1"), true},
	} {
		assert.Equal(t, c.want, c.selector.Known(n), c.selector.Shown)
	}
	asPath := root("app.srv.conns")
	assert.True(t, asPath.KnownAsPath(n))
	asPath = root("app.srv.cons[*]")
	assert.False(t, asPath.KnownAsPath(n), "there is no such field")
	misspelt := request.PathSelector("app.srv.cons[*]")
	variable, missing := misspelt.MissingField(n)
	assert.Equal(t, "app.srv", variable)
	assert.Same(t, field, missing)
	asPath = request.PathSelector("app.srv.conns")
	_, missing = asPath.MissingField(n)
	assert.Nil(t, missing)
}

// A selector selects the topmost branches at its path, or those of its types.
func TestSelects(t *testing.T) {
	worker := reporttest.Frame(reporttest.Node("example.com/app.run.p", "*example.com/app.pool", 5, 50, reporttest.Node("q", "[]uint8", 1, 8)),
		refscan.RootInfo{Func: "example.com/app.run", Goroutine: "example.com/app.start"})
	f := tree.GrowForest(reporttest.Report(reporttest.Sessions(10), worker))
	for _, c := range []struct {
		selector request.Selector
		want     string
		sum      tree.Tally
	}{
		{root("app.sessions"), "example.com/app.sessions", f[0].Total},
		{root("app.run"), "example.com/app.run.p", f[1].Total},
		{root("app.start"), "example.com/app.run.p", f[1].Total},
		{root("app.session"), "", tree.Tally{}},
		{root("app.sessions[*]"), "", tree.Tally{}},
		{request.PathSelector("app.sessions[*].buf"), "example.com/app.sessions[*].buf", tree.Tally{Objects: 10, Bytes: 3200}},
		{request.PathSelector("app.sessions"), "example.com/app.sessions", f[0].Total},
		{request.TypeNamedSelector("[]uint8"), "example.com/app.sessions[*].buf example.com/app.run.p.q", tree.Tally{Objects: 11, Bytes: 3208}},
		{request.TypeNamedSelector("app.Session"), "example.com/app.sessions[*]", tree.Tally{Objects: 10, Bytes: 960}},
	} {
		var paths []string
		found := c.selector.Selects(f)
		for _, b := range found {
			paths = append(paths, b.Path)
		}
		assert.Equal(t, c.want, strings.Join(paths, " "), c.selector.Shown)
		sum := c.selector.Sum(found)
		assert.Equal(t, []int64{c.sum.Objects, c.sum.Bytes}, []int64{sum.Objects, sum.Bytes}, c.selector.Shown)
	}
}

// What a selector's nodes hold is asked for by their paths.
func TestHeldQuery(t *testing.T) {
	info := &refscan.RootInfo{Kind: refscan.RootGlobal}
	roots, paths := root("app.srv"), request.PathSelector("app.srv.conns[*]")
	for path, want := range map[string][2]refscan.Match{
		"example.com/app.srv":               {refscan.Selected, refscan.Before},
		"example.com/app.srv.conns":         {refscan.NoMatch, refscan.Before},
		"example.com/app.srv.conns.$mapval": {refscan.NoMatch, refscan.Selected},
		"example.com/app.other":             {refscan.NoMatch, refscan.NoMatch},
	} {
		assert.Equal(t, want, [2]refscan.Match{roots.HeldQuery()(path, info), paths.HeldQuery()(path, info)}, path)
	}
	types := request.TypeNamedSelector("app.T")
	assert.True(t, types.HeldQuery() == nil)
}

// What a request leaves out claims objects last; a golden file has package variables first.
func TestOrder(t *testing.T) {
	r := &request.Request{}
	r.Ignore("app.debug", "only in tests")
	r.Narrow([]string{"example.com/app"})
	o := request.OrderOf(r, tree.Scope{Packages: r.Scope})
	assert.True(t, o.PackagesFirst && o.TestsLast)
	assert.True(t, o.LeftOutPath("example.com/app.debug", &refscan.RootInfo{}))
	assert.False(t, o.LeftOutPath("example.com/app.srv", &refscan.RootInfo{}))
	in, out := &refscan.RootInfo{Kind: refscan.RootGlobal, Package: "example.com/app"}, &refscan.RootInfo{Kind: refscan.RootGlobal, Package: "net"}
	assert.Equal(t, []bool{true, false, true}, []bool{o.LeftOut("example.com/app.debug", in), o.LeftOut("example.com/app.srv", in), o.LeftOut("net.x", out)})
	assert.False(t, o.LeftOut("timer(net.x)", &refscan.RootInfo{Kind: refscan.RootTimer, Package: "net"}))
	r = &request.Request{}
	r.Limit(request.Bound{Selector: root("app.srv"), MaxObjects: ref(1)})
	o = request.OrderOf(r, tree.Scope{})
	assert.False(t, o.PackagesFirst)
	assert.True(t, o.LeftOut == nil)
}

// Bounds on variables may be proved by reach, and those on types by counting, if nothing else
// counts.
func TestProofs(t *testing.T) {
	of := func(s request.Selector, cut bool) *request.Bound {
		b := &request.Bound{Selector: s, MaxObjects: ref(200)}
		if cut {
			b.Cut.Bytes = ref(1)
		}
		return b
	}
	for text, want := range map[string]string{
		"app.sessions": "sessions", "example.com/app.sessions": "sessions", "app.sess*": "", "app.Serve.buf": "", "app.(*Server).Serve": "",
		"timer(app.expire)": "", "sessions": "",
	} {
		got := ""
		if p := of(root(text), false).Reach(); p != nil {
			got = p.Ident
			assert.EqualValues(t, 200, p.MaxObjects)
			assert.EqualValues(t, -1, p.MaxBytes)
			assert.True(t, p.Is("example.com/app.sessions"))
		}
		assert.Equal(t, want, got, text)
		assert.True(t, of(root(text), true).Reach() == nil, text)
	}
	assert.True(t, of(request.TypeNamedSelector("app.T"), false).Reach() == nil)
	exact := of(request.TypeSelector(reflect.TypeFor[*session]()), false).TypeCount()
	require.NotNil(t, exact)
	const name = "github.com/leakgate/leakgate/leakcheck/internal/request_test.session"
	assert.True(t, exact.Is("*"+name))
	assert.False(t, exact.Is("*int"))
	assert.Contains(t, exact.Name, name)
	assert.Equal(t, `TypeNamed("app.T")`, of(request.TypeNamedSelector("app.T"), false).TypeCount().Name)
	assert.True(t, of(request.TypeNamedSelector("app.*"), false).TypeCount() == nil)
	assert.True(t, of(request.TypeNamedSelector("app.T"), true).TypeCount() == nil)
	assert.True(t, of(root("app.x"), false).TypeCount() == nil)
}
