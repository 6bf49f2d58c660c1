package holds

import (
	"container/ring"
	"runtime"

	"example.com/holds/shop"
	"github.com/leakgate/leakgate/leakcheck"
)

// Functions have captured a server.
var healthyFunctions = []program{
	{"closures in a map", "", func(t *recorder) {
		shop.Srv = shop.NewServer()
		for id := range 3 {
			shop.Hooks[id] = shop.Touch(shop.Srv)
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Hooks").MaxObjects(5))
	}},
	{"closures in a map, server of a field", "", func(t *recorder) {
		shop.App.Srv = shop.NewServer()
		for id := range 3 {
			shop.Hooks[id] = shop.Touch(shop.App.Srv)
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Hooks").MaxObjects(5))
	}},
	{"closures in a slice, server of the test", "", func(t *recorder) {
		srv := shop.NewServer()
		for range 3 {
			shop.OnClose = append(shop.OnClose, shop.Touch(srv))
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.OnClose").MaxObjects(5))
		runtime.KeepAlive(srv)
	}},
	{"method values", "", func(t *recorder) {
		shop.Srv = shop.NewServer()
		for range 3 {
			shop.OnClose = append(shop.OnClose, shop.Srv.OnClose)
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.OnClose").MaxObjects(5))
	}},
	{"method value of the fixture's server", "", func(t *recorder) {
		e := fixture(env{srv: shop.NewServer()})
		shop.OnClose = append(shop.OnClose, e.srv.OnClose)
		leakcheck.AssertRetained(t, leakcheck.Root("shop.OnClose").MaxObjects(3))
		runtime.KeepAlive(e)
	}},
	{"timer", "", func(t *recorder) {
		shop.Srv = shop.NewServer()
		defer shop.CloseLater(shop.Srv).Stop()
		leakcheck.AssertRetained(t, leakcheck.Root("timer(shop.**)").MaxObjects(3))
	}},
	{"timers in a map", "", func(t *recorder) {
		shop.Srv = shop.NewServer()
		for id := range 3 {
			shop.Deadlines[id] = shop.CloseLater(shop.Srv)
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Deadlines").MaxObjects(12))
	}},
	{"timers in a map, server of the test", "", func(t *recorder) {
		srv := shop.NewServer()
		for id := range 3 {
			shop.Deadlines[id] = shop.CloseLater(srv)
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Deadlines").MaxObjects(12), leakcheck.Root("timer(shop.**)").MaxObjects(12))
		runtime.KeepAlive(srv)
	}},
	{"files whose finalizers have a server", "", func(t *recorder) {
		shop.Srv = shop.NewServer()
		for range 3 {
			shop.Files = append(shop.Files, shop.Open(shop.Touch(shop.Srv)))
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Files").MaxObjects(15), leakcheck.Root("finalizer(*shop.File)").MaxObjects(15))
	}},
}

// Elements of other containers than maps of sessions lead to a server.
var healthyStructures = []program{
	{"sync.Map", "", func(t *recorder) {
		shop.Srv = shop.NewServer()
		for id := range 3 {
			s := shop.NewSession(id)
			s.Srv = shop.Srv
			shop.Live.Store(id, s)
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Live").MaxObjects(25))
	}},
	{"sync.Map, server of a fixture", "", func(t *recorder) {
		e := fixture(env{srv: shop.NewServer()})
		for id := range 3 {
			s := shop.NewSession(id)
			s.Srv = e.srv
			shop.Live.Store(id, s)
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Live").MaxObjects(25))
		runtime.KeepAlive(e)
	}},
	{"container/list", "", func(t *recorder) {
		shop.Srv = shop.NewServer()
		for id := range 3 {
			s := shop.NewSession(id)
			s.Owner = shop.Srv
			shop.Recent.PushBack(s)
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Recent").MaxObjects(12))
	}},
	{"container/ring, server of the test", "", func(t *recorder) {
		srv := shop.NewServer()
		shop.Round = ring.New(3)
		for id := range 3 {
			s := shop.NewSession(id)
			s.Srv = srv
			shop.Round.Value, shop.Round = s, shop.Round.Next()
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Round").MaxObjects(12))
		runtime.KeepAlive(srv)
	}},
	{"linked list", "", func(t *recorder) {
		shop.App.Srv = shop.NewServer()
		for id := range 10 {
			s := shop.NewSession(id)
			s.Srv, s.Next, shop.Head = shop.App.Srv, shop.Head, s
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Head").MaxObjects(25))
	}},
	{"generic list", "", func(t *recorder) {
		srv := shop.NewServer()
		for id := range 10 {
			s := shop.NewSession(id)
			s.Srv = srv
			shop.Chain.Add(s)
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Chain").MaxObjects(40))
		runtime.KeepAlive(srv)
	}},
	{"tree", "", func(t *recorder) {
		shop.Srv = shop.NewServer()
		shop.Tree = shop.Grow(0, 30, nil, func(n *shop.Node) { n.Srv = shop.Srv })
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Tree").MaxObjects(40))
	}},
	{"marks in a tree", "", func(t *recorder) {
		shop.Tree = shop.Grow(0, 2000, nil, func(n *shop.Node) {
			if n.Key%1000 == 0 {
				shop.Marks[string(rune('a'+n.Key/1000))] = &shop.Mark{At: n}
			}
		})
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Marks").MaxObjects(6))
	}},
	{"pool", "", func(t *recorder) {
		shop.Srv = shop.NewServer()
		shop.Conns.Srv = shop.Srv
		shop.Conns.Put(shop.Conns.Get())
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Conns").MaxObjects(8))
	}},
	{"pool, server of the test, lent connection", "", func(t *recorder) {
		srv := shop.NewServer()
		shop.Conns.Srv = srv
		c := shop.Conns.Get()
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Conns").MaxObjects(8), leakcheck.Path("shop.Conns.Free[*]").None())
		runtime.KeepAlive(c)
		runtime.KeepAlive(srv)
	}},
	{"interfaces", "", func(t *recorder) {
		shop.Srv = shop.NewServer()
		for id := range 3 {
			shop.Guests[id] = &shop.Guest{ID: id, Of: shop.Srv}
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Guests").MaxObjects(6))
	}},
	{"interfaces, server of a fixture", "", func(t *recorder) {
		e := fixture(env{srv: shop.NewServer()})
		for id := range 3 {
			shop.Guests[id] = &shop.Guest{ID: id, Of: e.srv}
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Guests").MaxObjects(6))
		runtime.KeepAlive(e)
	}},
	{"listener that has the test's fixture", "", func(t *recorder) {
		e := fixture(env{srv: shop.NewServer()})
		shop.Events.Listeners = append(shop.Events.Listeners, probe{e})
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Events").MaxObjects(4))
		runtime.KeepAlive(e)
	}},
	{"generic handles", "", func(t *recorder) {
		shop.Srv = shop.NewServer()
		for id := range 3 {
			shop.Handles[id] = &shop.Handle[shop.Server]{ID: id, Of: shop.Srv}
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Handles").MaxObjects(6))
	}},
	{"generic table", "", func(t *recorder) {
		srv := shop.NewServer()
		shop.Lookup.Srv = srv
		shop.Lookup.Put("a", &shop.Session{Srv: srv})
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Lookup").MaxObjects(5))
		runtime.KeepAlive(srv)
	}},
	{"frame of a goroutine at work", "", func(t *recorder) {
		shop.Srv = shop.NewServer()
		s := &shop.Session{Srv: shop.Srv}
		send, stop := shop.Work()
		defer stop()
		send(s)
		leakcheck.AssertRetained(t, leakcheck.Root("shop.work.pending").MaxObjects(4))
	}},
}

// A probe is a listener that knows the test's fixture.
type probe struct{ of *env }

func (p probe) Handle() { p.of.sess = nil }
