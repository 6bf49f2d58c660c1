package holds

import (
	"runtime"

	"example.com/holds/depot"
	"example.com/holds/shop"
	"github.com/leakgate/leakgate/leakcheck"
)

// Values of the standard library are shared.
var healthyLibraries = []program{
	{"database of a variable", "", func(t *recorder) {
		shop.DB = shop.OpenDB()
		for _, name := range []string{"a", "b", "c"} {
			shop.Repos[name] = &shop.Repo{Name: name, DB: shop.DB}
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Repos").MaxObjects(6))
	}},
	{"database of the test", "", func(t *recorder) {
		db := shop.OpenDB()
		defer db.Close()
		for _, name := range []string{"a", "b", "c"} {
			shop.Repos[name] = &shop.Repo{Name: name, DB: db}
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Repos").MaxObjects(6))
	}},
	{"prepared statements", "", func(t *recorder) {
		shop.DB = shop.OpenDB()
		shop.Stmts["a"], _ = shop.DB.Prepare("a")
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Stmts").MaxObjects(25))
	}},
	{"web server of a variable", "", func(t *recorder) {
		shop.Web = shop.NewWeb()
		shop.Endpoints = append(shop.Endpoints, &shop.Endpoint{Path: "/a", Server: shop.Web}, &shop.Endpoint{Path: "/b", Server: shop.Web})
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Endpoints").MaxObjects(4))
	}},
	{"mux of a variable's server", "", func(t *recorder) {
		mux := shop.NewMux()
		shop.Web = shop.NewWeb()
		shop.Web.Handler = mux
		shop.Endpoints = append(shop.Endpoints, &shop.Endpoint{Path: "/a", Mux: mux}, &shop.Endpoint{Path: "/b", Mux: mux})
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Endpoints").MaxObjects(4))
	}},
	{"mux of the test", "", func(t *recorder) {
		mux := shop.NewMux()
		shop.Endpoints = append(shop.Endpoints, &shop.Endpoint{Path: "/a", Mux: mux}, &shop.Endpoint{Path: "/b", Mux: mux})
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Endpoints").MaxObjects(4))
		runtime.KeepAlive(mux)
	}},
	{"flags of a variable", "", func(t *recorder) {
		shop.Flags = shop.NewFlags()
		for _, name := range []string{"a", "b", "c"} {
			shop.Commands[name] = &shop.Command{Name: name, Flags: shop.Flags}
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Commands").MaxObjects(6))
	}},
	{"flags of the test", "", func(t *recorder) {
		fs := shop.NewFlags()
		shop.Commands["a"] = &shop.Command{Name: "a", Flags: fs}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Commands").MaxObjects(3))
		runtime.KeepAlive(fs)
	}},
	{"templates of a variable", "", func(t *recorder) {
		shop.Templates = shop.NewTemplates()
		for _, title := range []string{"a", "b", "c"} {
			shop.Pages = append(shop.Pages, &shop.Page{Title: title, Tmpl: shop.Templates})
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Pages").MaxObjects(5))
	}},
	{"templates of the test", "", func(t *recorder) {
		tmpl := shop.NewTemplates()
		shop.Pages = append(shop.Pages, &shop.Page{Title: "a", Tmpl: tmpl})
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Pages").MaxObjects(3))
		runtime.KeepAlive(tmpl)
	}},
}

// What is left out, or compared, is rightly so.
var healthyOptions = []program{
	{"ignored cache", "", func(t *recorder) {
		for id := range 100 {
			shop.Srv.Cache[id] = shop.NewSession(id)
		}
		fill(linkTo(shop.Srv))
		leakcheck.AssertRetained(t, leakcheck.Type[*shop.Session]().MaxObjects(3), leakcheck.Ignore("shop.Srv.Cache", "a cache"))
	}},
	{"ignored cache of a bounded root", "", func(t *recorder) {
		for id := range 100 {
			s := shop.NewSession(id)
			s.Srv = shop.Srv
			shop.Srv.Cache[id] = s
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Srv").MaxObjects(6), leakcheck.Ignore("shop.Srv.Cache", "a cache"))
	}},
	{"ignored root behind sessions", "", func(t *recorder) {
		depot.Cellar = shop.NewServer()
		fill(linkTo(depot.Cellar))
		leakcheck.AssertRetained(t, few, leakcheck.Ignore("depot.Cellar", "meant"))
	}},
	{"type with a scope, sessions of the test", "", func(t *recorder) {
		e := fixture(env{srv: shop.NewServer()})
		for id := range 20 {
			e.sessions = append(e.sessions, shop.NewSession(id))
		}
		leakcheck.AssertRetained(t, leakcheck.Type[*shop.Session]().None(), leakcheck.Scope(shopOnly))
		runtime.KeepAlive(e)
	}},
	{"type with a scope, sessions of another package", "", func(t *recorder) {
		for id := range 20 {
			depot.Shelf = append(depot.Shelf, shop.NewSession(id))
		}
		fill(func(*shop.Session) {})
		leakcheck.AssertRetained(t, leakcheck.Type[*shop.Session]().MaxObjects(3), leakcheck.Scope(shopOnly))
	}},
	{"root with a scope, server of a variable", "", func(t *recorder) {
		shop.Srv = shop.NewServer()
		fill(linkTo(shop.Srv))
		leakcheck.AssertRetained(t, few, leakcheck.Scope(shopOnly))
	}},
	{"retained bytes, server of a variable", "", func(t *recorder) {
		shop.Srv = shop.NewServer()
		fill(linkTo(shop.Srv))
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Sessions").MaxRetainedBytes(4<<10))
	}},
	{"retained bytes, server of a field", "", func(t *recorder) {
		shop.App.Srv = shop.NewServer()
		fill(linkTo(shop.App.Srv))
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Sessions").MaxRetainedObjects(10))
	}},
	{"golden file, the test makes more", "", func(t *recorder) {
		t.goldens()
		shop.Srv = shop.NewServer()
		fill(linkTo(shop.Srv))
		leakcheck.AssertRetained(t, leakcheck.Golden("more"))
		e := fixture(env{srv: shop.NewServer(), sess: shop.NewSession(1)})
		e.sess.Srv, e.sess.Store = shop.Srv, shop.App.Store
		leakcheck.AssertRetained(t, leakcheck.Golden("more"))
		runtime.KeepAlive(e)
	}},
	{"golden file, the test takes hold of a session", "", func(t *recorder) {
		t.goldens()
		fill(func(*shop.Session) {})
		leakcheck.AssertRetained(t, leakcheck.Golden("hold"))
		s := shop.Sessions[1]
		leakcheck.AssertRetained(t, leakcheck.Golden("hold"))
		runtime.KeepAlive(s)
	}},
	{"since, the server grows", "", func(t *recorder) {
		shop.Srv = shop.NewServer()
		fill(linkTo(shop.Srv))
		base := leakcheck.TakeBaseline(t)
		shop.Srv.Blobs = append(shop.Srv.Blobs, shop.NewServer().Blobs...)
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Sessions").None(), leakcheck.Since(base))
	}},
	{"since, the test takes hold of a session", "", func(t *recorder) {
		shop.Srv = shop.NewServer()
		fill(linkTo(shop.Srv))
		base := leakcheck.TakeBaseline(t)
		s := shop.Sessions[1]
		delete(shop.Sessions, 1)
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Sessions").None(), leakcheck.Since(base))
		runtime.KeepAlive(s)
	}},
	{"growth, an ignored cache", "", func(t *recorder) {
		shop.Srv = shop.NewServer()
		id := 0
		leakcheck.AssertNoGrowth(t, func() {
			s := shop.NewSession(id)
			s.Srv = shop.Srv
			shop.Srv.Cache[id] = s
			id++
		}, leakcheck.Ignore("shop.Srv.Cache", "a cache"), leakcheck.Iterations(200))
	}},
}
