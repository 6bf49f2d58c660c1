package holds

import (
	"context"
	"net/http"
	"runtime"
	"time"

	"example.com/holds/depot"
	"example.com/holds/shop"
	"github.com/leakgate/leakgate/leakcheck"
)

func leak() *shop.Session {
	s := shop.NewSession(1)
	shop.Sessions[1] = s
	return s
}

var none = leakcheck.Path("shop.Sessions[*]").None()

// An entry stays in a map, and something else than the test's variable has it, too.
var leaksOfHolders = []program{
	{"held by a map that is meant", "holds/shop.Sessions", func(t *recorder) {
		for id := range 50 {
			s := shop.NewSession(id)
			shop.Index[id], shop.Sessions[id] = s, s
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Sessions").MaxObjects(1))
	}},
	{"two maps, both bounded", `Root("shop.Sessions") Root("shop.Index") holds/shop.Sessions holds/shop.Index`, func(t *recorder) {
		for id := range 50 {
			s := shop.NewSession(id)
			shop.Index[id], shop.Sessions[id] = s, s
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Sessions").MaxObjects(1), leakcheck.Root("shop.Index").MaxObjects(1))
	}},
	{"root and path, both bounded", `Path("shop.Srv.Sessions[*]") Root("shop.Queue") holds/shop.Srv holds/shop.Queue`, func(t *recorder) {
		s := shop.NewSession(1)
		shop.Srv.Sessions[1] = s
		shop.Queue = append(shop.Queue, s)
		leakcheck.AssertRetained(t, leakcheck.Path("shop.Srv.Sessions[*]").None(), leakcheck.Root("shop.Queue").MaxObjects(1))
		runtime.KeepAlive(s)
	}},
	{"held by the variable current", "holds/shop.Sessions", func(t *recorder) {
		shop.Current = leak()
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Sessions").MaxObjects(1))
	}},
	{"held by a struct's field", "holds/shop.Queue", func(t *recorder) {
		shop.Queue = append(shop.Queue, leak())
		shop.Registry.Latest = shop.Queue[0]
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Queue").MaxObjects(1))
	}},
	{"held by a goroutine at work", "holds/shop.Sessions", func(t *recorder) {
		stop := shop.Serve(leak())
		defer stop()
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Sessions").MaxObjects(1))
	}},
	{"held by a goroutine at work, by path", "holds/shop.App", func(t *recorder) {
		s := shop.NewSession(1)
		shop.App.Store.Sessions[1] = s
		stop := shop.Serve(s)
		defer stop()
		leakcheck.AssertRetained(t, leakcheck.Path("shop.App.Store.Sessions[*]").None())
	}},
	{"held by a goroutine of the test", "holds/shop.Sessions", func(t *recorder) {
		stop := waits(leak())
		defer stop()
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Sessions").MaxObjects(1))
	}},
	{"held by a goroutine of the test, nested", "holds/shop.App", func(t *recorder) {
		e := fixture(env{})
		for id := range 20 {
			s := shop.NewSession(id)
			shop.App.Store.Sessions[id] = s
			e.sessions = append(e.sessions, s)
		}
		stop := waits(e)
		defer stop()
		leakcheck.AssertRetained(t, leakcheck.Root("shop.App").MaxObjects(5))
	}},
	{"held by a fixture", "holds/shop.Sessions", func(t *recorder) {
		e := fixture(env{sess: leak()})
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Sessions").MaxObjects(1))
		runtime.KeepAlive(e)
	}},
	{"held by a fixture's slice, nested", "holds/shop.Srv", func(t *recorder) {
		e := fixture(env{srv: shop.Srv})
		for id := range 20 {
			s := shop.NewSession(id)
			s.Srv = e.srv
			shop.Srv.Sessions[id] = s
			e.sessions = append(e.sessions, s)
		}
		leakcheck.AssertRetained(t, leakcheck.Path("shop.Srv.Sessions").MaxObjects(1))
		runtime.KeepAlive(e)
	}},
	{"held by a variable of the test's package", "holds/shop.Sessions", func(t *recorder) {
		noted = leak()
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Sessions").MaxObjects(1))
	}},
	{"held by another package's variable", "holds/shop.Sessions", func(t *recorder) {
		depot.Last = leak()
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Sessions").MaxObjects(1))
	}},
	{"held by another package's slice", "holds/shop.Srv", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Srv.Store.Sessions[1] = s
		depot.Shelf = append(depot.Shelf, s)
		leakcheck.AssertRetained(t, leakcheck.Path("shop.Srv.Store.Sessions[*]").None())
	}},
	{"held by a timer", "holds/shop.Sessions", func(t *recorder) {
		defer shop.ExpireLater(leak()).Stop()
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Sessions").MaxObjects(1))
	}},
	{"held by a timer of the test", "holds/shop.Sessions", func(t *recorder) {
		s := leak()
		timer := time.AfterFunc(time.Hour, func() { s.Expire() })
		defer timer.Stop()
		leakcheck.AssertRetained(t, none)
	}},
	{"held by a finalizer", "holds/shop.Sessions", func(t *recorder) {
		f := shop.Open(shop.Finish(leak()))
		leakcheck.AssertRetained(t, none)
		runtime.KeepAlive(f)
	}},
	{"held by a cleanup", "holds/shop.Sessions", func(t *recorder) {
		f := shop.OpenFor(leak())
		leakcheck.AssertRetained(t, none)
		runtime.KeepAlive(f)
	}},
	{"held by a context", "holds/shop.Sessions", func(t *recorder) {
		ctx := context.WithValue(context.Background(), key{}, leak())
		leakcheck.AssertRetained(t, none)
		runtime.KeepAlive(ctx)
	}},
	{"held by a closure of the test", "holds/shop.Sessions", func(t *recorder) {
		s := leak()
		check := func() int { return s.ID }
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Sessions").MaxObjects(1))
		check()
	}},
	{"held by a channel of the test", "holds/shop.Sessions", func(t *recorder) {
		events := make(chan *shop.Session, 4)
		events <- leak()
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Sessions").MaxObjects(1))
		runtime.KeepAlive(<-events)
	}},
	{"held by a mux of the test", "holds/shop.Sessions", func(t *recorder) {
		s, mux := leak(), http.NewServeMux()
		mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) { s.Expire() })
		leakcheck.AssertRetained(t, none)
		runtime.KeepAlive(mux)
	}},
	{"held by a cleanup of the test", "holds/shop.Sessions", func(t *recorder) {
		s := leak()
		t.Cleanup(func() { s.Expire() })
		leakcheck.AssertRetained(t, none)
	}},
	{"held by the caller's variable", "holds/shop.Sessions", func(t *recorder) {
		s := leak()
		func() { leakcheck.AssertRetained(t, none) }()
		runtime.KeepAlive(s)
	}},
}
