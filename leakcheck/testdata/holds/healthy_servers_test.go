package holds

import (
	"runtime"

	"example.com/holds/depot"
	"example.com/holds/shop"
	"github.com/leakgate/leakgate/leakcheck"
)

// fill puts three sessions into shop.Sessions: seven objects with the map.
func fill(link func(*shop.Session)) {
	for id := range 3 {
		s := shop.NewSession(id)
		link(s)
		shop.Sessions[id] = s
	}
}

func linkTo(srv *shop.Server) func(*shop.Session) {
	return func(s *shop.Session) { s.Srv = srv }
}

var few = leakcheck.Root("shop.Sessions").MaxObjects(10)

// Sessions point back at a server with 1,000 blobs.
var healthyServers = []program{
	{"server of a variable", "", func(t *recorder) {
		shop.Srv = shop.NewServer()
		fill(linkTo(shop.Srv))
		leakcheck.AssertRetained(t, few)
	}},
	{"server of a variable, the test has it too", "", func(t *recorder) {
		srv := shop.NewServer()
		shop.Srv = srv
		fill(linkTo(srv))
		leakcheck.AssertRetained(t, few, leakcheck.Root("shop.Sessions").MaxBytes(8<<10))
		runtime.KeepAlive(srv)
	}},
	{"server of a variable's field", "", func(t *recorder) {
		shop.App.Srv = shop.NewServer()
		fill(linkTo(shop.App.Srv))
		leakcheck.AssertRetained(t, few)
	}},
	// By pointers alone the bounded root is nearer, or as near.
	{"server two fields down", "", func(t *recorder) {
		shop.World = &shop.Universe{App: &shop.Application{Srv: shop.NewServer()}}
		fill(linkTo(shop.World.App.Srv))
		leakcheck.AssertRetained(t, few)
	}},
	{"server in another package", "", func(t *recorder) {
		depot.Cellar = shop.NewServer()
		fill(linkTo(depot.Cellar))
		leakcheck.AssertRetained(t, few)
	}},
	{"server in a slice", "", func(t *recorder) {
		shop.Servers = append(shop.Servers, shop.NewServer())
		fill(linkTo(shop.Servers[0]))
		leakcheck.AssertRetained(t, few)
	}},
	{"server of the test", "", func(t *recorder) {
		srv := shop.NewServer()
		fill(linkTo(srv))
		leakcheck.AssertRetained(t, few)
		runtime.KeepAlive(srv)
	}},
	{"server of the test's fixture", "", func(t *recorder) {
		e := fixture(env{srv: shop.NewServer()})
		fill(linkTo(e.srv))
		leakcheck.AssertRetained(t, few)
		runtime.KeepAlive(e)
	}},
	{"server of the caller's fixture", "", func(t *recorder) {
		e := fixture(env{srv: shop.NewServer()})
		fill(linkTo(e.srv))
		func() { leakcheck.AssertRetained(t, few) }()
		runtime.KeepAlive(e)
	}},
	{"server of a goroutine of the test", "", func(t *recorder) {
		srv := shop.NewServer()
		stop := waits(srv)
		defer stop()
		fill(linkTo(srv))
		leakcheck.AssertRetained(t, few)
	}},
	{"server of a goroutine of TestMain", "", func(t *recorder) {
		fill(linkTo(ofMain.Value()))
		leakcheck.AssertRetained(t, few)
	}},
	{"server of a goroutine at work", "", func(t *recorder) {
		join, stop := shop.Own()
		defer stop()
		fill(join)
		leakcheck.AssertRetained(t, few)
	}},
	{"server that has the same sessions", "", func(t *recorder) {
		shop.Srv = shop.NewServer()
		fill(func(s *shop.Session) { s.Srv, shop.Srv.Sessions[s.ID] = shop.Srv, s })
		leakcheck.AssertRetained(t, few, leakcheck.Path("shop.Srv.Sessions").MaxObjects(10))
	}},
	{"two maps with the same sessions", "", func(t *recorder) {
		shop.Srv = shop.NewServer()
		fill(func(s *shop.Session) { s.Srv, shop.Index[s.ID] = shop.Srv, s })
		leakcheck.AssertRetained(t, few, leakcheck.Root("shop.Index").MaxObjects(10))
	}},
	{"nested store, server of the application", "", func(t *recorder) {
		shop.App.Srv = shop.NewServer()
		for id := range 3 {
			s := shop.NewSession(id)
			s.Srv, s.Store = shop.App.Srv, shop.App.Store
			shop.App.Store.Sessions[id] = s
		}
		leakcheck.AssertRetained(t, leakcheck.Path("shop.App.Store").MaxObjects(10)) // store, map, six
	}},
	{"elements by path, server of the test", "", func(t *recorder) {
		srv := shop.NewServer()
		for id := range 3 {
			s := shop.NewSession(id)
			s.Srv = srv
			shop.Srv.Store.Sessions[id] = s
		}
		leakcheck.AssertRetained(t, leakcheck.Path("shop.Srv.Store.Sessions[*]").MaxObjects(6))
		runtime.KeepAlive(srv)
	}},
	{"empty map, the test has sessions", "", func(t *recorder) {
		e := fixture(env{srv: shop.NewServer()})
		for id := range 20 {
			e.sessions = append(e.sessions, shop.NewSession(id))
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Sessions").MaxObjects(1), leakcheck.Root("shop.Srv").MaxObjects(5))
		runtime.KeepAlive(e)
	}},
	{"slice of structs with servers", "", func(t *recorder) {
		shop.Srv = shop.NewServer()
		for id := range 3 {
			shop.Rows = append(shop.Rows, shop.Row{ID: id, Srv: shop.Srv})
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Rows").MaxObjects(2))
	}},
	{"slice of structs, server of the test", "", func(t *recorder) {
		srv := shop.NewServer()
		for id := range 3 {
			shop.Rows = append(shop.Rows, shop.Row{ID: id, Srv: srv})
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Rows").MaxObjects(2))
		runtime.KeepAlive(srv)
	}},
	{"errors that have a server", "", func(t *recorder) {
		shop.Srv = shop.NewServer()
		for range 3 {
			shop.Failures = append(shop.Failures, &shop.Failure{Op: "read", Srv: shop.Srv})
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Failures").MaxObjects(5))
	}},
}
