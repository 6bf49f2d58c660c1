package holds

import (
	"context"
	"runtime"

	"example.com/holds/shop"
	"github.com/leakgate/leakgate/leakcheck"
)

// Entries stay in maps, and the test goes on to use them.
var leaksOfMaps = []program{
	{"map, objects", "holds/shop.Sessions", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Sessions[1] = s
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Sessions").MaxObjects(1))
		runtime.KeepAlive(s)
	}},
	{"map, elements", "holds/shop.Sessions", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Sessions[1] = s
		leakcheck.AssertRetained(t, leakcheck.Path("shop.Sessions[*]").None())
		runtime.KeepAlive(s)
	}},
	{"map, bytes", "holds/shop.Sessions", func(t *recorder) {
		s := &shop.Session{Buf: make([]byte, 64<<10)}
		shop.Sessions[1] = s
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Sessions").MaxBytes(4<<10))
		runtime.KeepAlive(s)
	}},
	{"map, buffers of the elements", "holds/shop.Sessions", func(t *recorder) {
		buf := make([]byte, 4096)
		shop.Sessions[1] = &shop.Session{Buf: buf}
		leakcheck.AssertRetained(t, leakcheck.Path("shop.Sessions[*].Buf").None())
		runtime.KeepAlive(buf)
	}},
	{"map in a struct, objects", "holds/shop.Srv", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Srv.Sessions[1] = s
		leakcheck.AssertRetained(t, leakcheck.Path("shop.Srv.Sessions").MaxObjects(1))
		runtime.KeepAlive(s)
	}},
	{"map in a struct, elements", "holds/shop.Srv", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Srv.Sessions[1] = s
		leakcheck.AssertRetained(t, leakcheck.Path("shop.Srv.Sessions[*]").None())
		runtime.KeepAlive(s)
	}},
	{"map in a struct, by root", "holds/shop.Srv", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Srv.Sessions[1] = s
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Srv").MaxObjects(5)) // server, three maps, store
		runtime.KeepAlive(s)
	}},
	{"map in a struct by value", "holds/shop.Registry", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Registry.Items["a"] = s
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Registry").MaxObjects(1))
		runtime.KeepAlive(s)
	}},
	{"nested store, by path", "holds/shop.App", func(t *recorder) {
		s := shop.NewSession(1)
		shop.App.Store.Sessions[1] = s
		leakcheck.AssertRetained(t, leakcheck.Path("shop.App.Store.Sessions[*]").None())
		runtime.KeepAlive(s)
	}},
	{"nested store, by root", "holds/shop.App", func(t *recorder) {
		var all []*shop.Session
		for id := range 20 {
			s := shop.NewSession(id)
			shop.App.Store.Sessions[id] = s
			all = append(all, s)
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.App").MaxObjects(5))
		runtime.KeepAlive(all)
	}},
	{"store that the session points back at, by path", "holds/shop.Srv", func(t *recorder) {
		s := shop.NewSession(1)
		s.Store = shop.Srv.Store
		shop.Srv.Store.Sessions[1] = s
		leakcheck.AssertRetained(t, leakcheck.Path("shop.Srv.Store.Sessions[*]").None())
		runtime.KeepAlive(s)
	}},
	{"store that the session points back at, by root", "holds/shop.Srv", func(t *recorder) {
		var s *shop.Session
		for id := range 20 {
			s = shop.NewSession(id)
			s.Store = shop.Srv.Store
			shop.Srv.Store.Sessions[id] = s
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Srv").MaxObjects(8))
		runtime.KeepAlive(s)
	}},
	{"three layers", "holds/shop.World", func(t *recorder) {
		shop.World = &shop.Universe{App: &shop.Application{Srv: shop.NewServer(), Store: shop.NewStore()}}
		s := shop.NewSession(1)
		s.Srv, s.Store = shop.World.App.Srv, shop.World.App.Store
		s.Srv.Sessions[1] = s
		leakcheck.AssertRetained(t, leakcheck.Path("shop.World.App.Srv.Sessions[*]").None())
		runtime.KeepAlive(s)
	}},
	{"map of maps", "holds/shop.Tenants", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Tenants["a"] = map[int]*shop.Session{1: s}
		leakcheck.AssertRetained(t, leakcheck.Path("shop.Tenants[*][*]").None())
		runtime.KeepAlive(s)
	}},
	{"map of slices", "holds/shop.ByUser", func(t *recorder) {
		s := shop.NewSession(1)
		shop.ByUser["a"] = append(shop.ByUser["a"], s)
		leakcheck.AssertRetained(t, leakcheck.Root("shop.ByUser").MaxObjects(2))
		runtime.KeepAlive(s)
	}},
	{"map of entries", "holds/shop.Entries", func(t *recorder) {
		e := &shop.Entry{Of: shop.NewSession(1)}
		shop.Entries[1] = e
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Entries").MaxObjects(1))
		runtime.KeepAlive(e)
	}},
	{"map of structs, by path", "holds/shop.Pairs", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Pairs[[2]int{1, 2}] = shop.Entry{Of: s}
		leakcheck.AssertRetained(t, leakcheck.Path("shop.Pairs[*].Of").None())
		runtime.KeepAlive(s)
	}},
	{"map of interfaces", "holds/shop.Handlers", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Handlers["a"] = s
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Handlers").MaxObjects(1))
		runtime.KeepAlive(s)
	}},
	{"generic set, by root", "holds/shop.Online", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Online[s] = struct{}{}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Online").MaxObjects(1))
		runtime.KeepAlive(s)
	}},
	{"generic set, by path", "holds/shop.Online", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Online[s] = struct{}{}
		leakcheck.AssertRetained(t, leakcheck.Path("shop.Online[$key]").None())
		runtime.KeepAlive(s)
	}},
	{"generic table", "holds/shop.Lookup", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Lookup.Put("a", s)
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Lookup").MaxObjects(2))
		runtime.KeepAlive(s)
	}},
	{"contexts as keys", "holds/shop.Requests", func(t *recorder) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		shop.Requests[ctx] = struct{}{}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Requests").MaxObjects(1))
		runtime.KeepAlive(ctx)
	}},
	{"contexts with sessions", "holds/shop.ByContext", func(t *recorder) {
		s := shop.NewSession(1)
		ctx, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, s))
		defer cancel()
		shop.ByContext[ctx] = s
		leakcheck.AssertRetained(t, leakcheck.Path("shop.ByContext[*]").None())
		runtime.KeepAlive(ctx)
	}},
	{"pool", "holds/shop.Conns", func(t *recorder) {
		c := shop.Conns.Get() // never put back
		leakcheck.AssertRetained(t, leakcheck.Path("shop.Conns.Busy[$key]").None())
		runtime.KeepAlive(c)
	}},
	{"pool, by root", "holds/shop.Conns", func(t *recorder) {
		c, d := shop.Conns.Get(), shop.Conns.Get()
		shop.Conns.Put(d)
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Conns").MaxObjects(5)) // pool, map, slice, one of two
		runtime.KeepAlive(c)
	}},
}
