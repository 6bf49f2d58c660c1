package holds

import (
	"context"
	"runtime"

	"example.com/holds/shop"
	"github.com/leakgate/leakgate/leakcheck"
)

// Jobs, sessions and requests have contexts whose parents have 200 other children.
var healthyContexts = []program{
	{"context of the test", "", func(t *recorder) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		defer shop.Children(ctx, 200)()
		fill(func(s *shop.Session) { s.Ctx = ctx })
		leakcheck.AssertRetained(t, few)
		runtime.KeepAlive(ctx)
	}},
	{"child of a context of the test", "", func(t *recorder) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		defer shop.Children(ctx, 200)()
		fill(func(s *shop.Session) { s.Ctx = context.WithValue(ctx, key{}, s.ID) })
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Sessions").MaxObjects(15))
		runtime.KeepAlive(ctx)
	}},
	{"context of a variable", "", func(t *recorder) {
		defer shop.Children(shop.Base, 200)()
		fill(func(s *shop.Session) { s.Ctx = shop.Base })
		leakcheck.AssertRetained(t, few)
	}},
	{"child of a context of a variable", "", func(t *recorder) {
		defer shop.Children(shop.Base, 200)()
		fill(func(s *shop.Session) { s.Ctx = context.WithValue(shop.Base, key{}, s.ID) })
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Sessions").MaxObjects(15))
	}},
	{"jobs in a channel", "", func(t *recorder) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		defer shop.Children(ctx, 200)()
		for id := range 3 {
			j := shop.NewJob(id)
			j.Ctx = ctx
			shop.Jobs <- j
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Jobs").MaxObjects(10))
		runtime.KeepAlive(ctx)
	}},
	{"jobs in a channel, context of a variable", "", func(t *recorder) {
		defer shop.Children(shop.Base, 200)()
		for id := range 3 {
			j := shop.NewJob(id)
			j.Ctx = shop.Base
			shop.Jobs <- j
		}
		leakcheck.AssertRetained(t, leakcheck.Path("shop.Jobs[*]").MaxObjects(6))
	}},
	{"requests by context", "", func(t *recorder) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		defer shop.Children(ctx, 200)()
		for id := range 3 {
			shop.Requests[context.WithValue(ctx, key{}, id)] = struct{}{}
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Requests").MaxObjects(10))
		runtime.KeepAlive(ctx)
	}},
	{"context with the test's server as a value", "", func(t *recorder) {
		srv := shop.NewServer()
		ctx := context.WithValue(context.Background(), key{}, srv)
		fill(func(s *shop.Session) { s.Ctx = ctx })
		leakcheck.AssertRetained(t, few)
		runtime.KeepAlive(srv)
		runtime.KeepAlive(ctx)
	}},
}

// Loggers and settings are shared.
var healthyShared = []program{
	{"logger of a variable", "", func(t *recorder) {
		shop.Log = shop.NewLogger()
		for id := range 3 {
			shop.Workers = append(shop.Workers, &shop.Worker{ID: id, Log: shop.Log})
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Workers").MaxObjects(5))
	}},
	{"logger of a configuration", "", func(t *recorder) {
		shop.Config = &shop.Configuration{Log: shop.NewLogger()}
		for id := range 3 {
			shop.Workers = append(shop.Workers, &shop.Worker{ID: id, Log: shop.Config.Log})
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Workers").MaxObjects(5))
	}},
	{"logger of the test behind workers", "", func(t *recorder) {
		l := shop.NewSlog()
		for id := range 3 {
			shop.Workers = append(shop.Workers, &shop.Worker{ID: id, Slog: l})
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Workers").MaxObjects(5))
		runtime.KeepAlive(l)
	}},
	{"logger of the test behind a configuration", "", func(t *recorder) {
		l := shop.NewLogger()
		shop.Config = &shop.Configuration{Name: "a", Log: l}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Config").MaxObjects(2))
		runtime.KeepAlive(l)
	}},
	{"logger of a variable behind a configuration", "", func(t *recorder) {
		shop.Log = shop.NewLogger()
		shop.Config = &shop.Configuration{Name: "a", Log: shop.Log}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Config").MaxObjects(2))
	}},
	{"settings", "", func(t *recorder) {
		shop.Conf = &shop.Settings{Tables: map[string][]byte{}}
		for id := range 500 {
			shop.Conf.Tables[string(rune('a'+id))] = make([]byte, 64)
		}
		fill(func(s *shop.Session) { s.Conf = shop.Conf })
		leakcheck.AssertRetained(t, few, leakcheck.Root("shop.Sessions").MaxBytes(8<<10))
	}},
}
