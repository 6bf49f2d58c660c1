package holds

import (
	"runtime"

	"example.com/holds/shop"
	"github.com/leakgate/leakgate/leakcheck"
)

// A spy is a listener with memory of its own.
type spy struct{ seen [][]byte }

func (*spy) Handle() {}

// Programs about which one may disagree. The comment says what speaks for either.
var ambiguous = []program{
	// The test owns the logger; but nothing tells the field from one that a leak is in.
	{"logger of a fixture behind a configuration", "", func(t *recorder) {
		e := &struct{ conf *shop.Configuration }{&shop.Configuration{Log: shop.NewLogger()}}
		shop.Config = &shop.Configuration{Log: e.conf.Log}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Config").MaxObjects(2))
		runtime.KeepAlive(e)
	}},
	// The sessions leak; but the store that has them is the test's as much as the server's.
	{"the test has the store of the leak", "", func(t *recorder) {
		st := shop.Srv.Store
		for id := range 20 {
			st.Sessions[id] = shop.NewSession(id)
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Srv").MaxObjects(8))
		runtime.KeepAlive(st)
	}},
	// A row is how some write a map; but its field may also be the server of all rows.
	{"slice of structs, by root", "", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Rows = append(shop.Rows, shop.Row{Sess: s})
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Rows").MaxObjects(1))
		runtime.KeepAlive(s)
	}},
	// The index is nearer than the nested store, and either may be the leak.
	{"nested store and an index, by root", "", func(t *recorder) {
		for id := range 20 {
			s := shop.NewSession(id)
			shop.App.Store.Sessions[id], shop.Index[id] = s, s
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.App").MaxObjects(5))
	}},
	// Three bookmarks; but parents lead from each to the whole tree, by the tree's own fields.
	{"bookmarks in a tree", "", func(t *recorder) {
		shop.Tree = shop.Grow(0, 2000, nil, func(n *shop.Node) {
			if n.Key%1000 == 0 {
				shop.Bookmarks = append(shop.Bookmarks, n)
			}
		})
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Bookmarks").MaxObjects(5))
	}},
	// The listener is registered, with what it has; but all that it has is the test's.
	{"listener with the test's memory", "", func(t *recorder) {
		p := &spy{seen: shop.NewServer().Blobs}
		shop.Events.Listeners = append(shop.Events.Listeners, p)
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Events").MaxObjects(4))
		runtime.KeepAlive(p)
	}},
	// The values of a list; but to the program's types a value is a pointer field of a node.
	{"generic list, bytes", "", func(t *recorder) {
		s := &shop.Session{Buf: make([]byte, 64<<10)}
		shop.Chain.Add(s)
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Chain").MaxBytes(1<<10))
		runtime.KeepAlive(s)
	}},
	// The application has a server; but a variable of its own has it, too.
	{"server of a bounded field and of a variable", "", func(t *recorder) {
		shop.Srv = shop.NewServer()
		shop.App.Srv = shop.Srv
		leakcheck.AssertRetained(t, leakcheck.Root("shop.App").MaxObjects(5))
	}},
	// A box is no layer; but it is a struct with a field, as a row is.
	{"generic boxes in a map", "", func(t *recorder) {
		shop.Srv = shop.NewServer()
		for id := range 3 {
			shop.Boxes[id] = shop.Box[*shop.Server]{V: shop.Srv}
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Boxes").MaxObjects(2))
	}},
	// The server is the test's, which is out of scope; but what is in scope leads to it.
	{"type with a scope, server of the test behind sessions", "", func(t *recorder) {
		srv := shop.NewServer()
		fill(linkTo(srv))
		leakcheck.AssertRetained(t, leakcheck.Type[*shop.Server]().MaxObjects(1), leakcheck.Scope(shopOnly)) // shop.Srv
		runtime.KeepAlive(srv)
	}},
	// The fixture is the test's; but on the stack nothing may be left of it except what is used.
	{"server of a fixture on the stack", "", func(t *recorder) {
		e := &env{srv: shop.NewServer()}
		fill(linkTo(e.srv))
		leakcheck.AssertRetained(t, few)
		runtime.KeepAlive(e)
	}},
	// The goroutine is the test's, but at work.
	{"server of a goroutine of the test at work", "", func(t *recorder) {
		srv := shop.NewServer()
		stop, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			for {
				select {
				case <-stop:
					return
				default:
					srv.Name = "busy"
					runtime.Gosched()
				}
			}
		}()
		defer func() { close(stop); <-ended }()
		fill(linkTo(srv))
		leakcheck.AssertRetained(t, few)
	}},
}
