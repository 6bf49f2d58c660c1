package holds

import (
	"container/heap"
	"container/ring"
	"runtime"

	"example.com/holds/shop"
	"github.com/leakgate/leakgate/leakcheck"
)

// Elements stay in other containers than maps, and the test goes on to use them.
var leaksOfContainers = []program{
	{"slice", "holds/shop.Queue", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Queue = append(shop.Queue, s)
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Queue").MaxObjects(1))
		runtime.KeepAlive(s)
	}},
	{"slice, spare capacity", "holds/shop.Queue", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Queue = append(shop.Queue, s)[:0] // not cleared
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Queue").MaxObjects(1))
		runtime.KeepAlive(s)
	}},
	{"slice of structs, by path", "holds/shop.Rows", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Rows = append(shop.Rows, shop.Row{ID: 1, Sess: s})
		leakcheck.AssertRetained(t, leakcheck.Path("shop.Rows[*].Sess").None())
		runtime.KeepAlive(s)
	}},
	{"array", "holds/shop.Slots", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Slots[3] = s
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Slots").None())
		runtime.KeepAlive(s)
	}},
	{"channel", "holds/shop.Jobs", func(t *recorder) {
		j := shop.NewJob(1)
		shop.Jobs <- j
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Jobs").MaxObjects(2)) // the channel and its buffer
		runtime.KeepAlive(j)
	}},
	{"channel, elements", "holds/shop.Jobs", func(t *recorder) {
		j := shop.NewJob(1)
		shop.Jobs <- j
		leakcheck.AssertRetained(t, leakcheck.Path("shop.Jobs[*]").None())
		runtime.KeepAlive(j)
	}},
	{"channel of interfaces", "holds/shop.Orders", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Orders <- s
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Orders").MaxObjects(2))
		runtime.KeepAlive(s)
	}},
	{"sync.Map, objects", "holds/shop.Live", func(t *recorder) {
		var all []*shop.Session
		for id := range 100 {
			s := shop.NewSession(id)
			shop.Live.Store(id, s)
			all = append(all, s)
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Live").MaxObjects(20))
		runtime.KeepAlive(all)
	}},
	{"sync.Map, bytes", "holds/shop.Live", func(t *recorder) {
		s := &shop.Session{Buf: make([]byte, 64<<10)}
		shop.Live.Store("a", s)
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Live").MaxBytes(8<<10))
		runtime.KeepAlive(s)
	}},
	{"container/list, bytes", "holds/shop.Recent", func(t *recorder) {
		s := &shop.Session{Buf: make([]byte, 64<<10)}
		shop.Recent.PushBack(s)
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Recent").MaxBytes(1<<10))
		runtime.KeepAlive(s)
	}},
	{"container/list, objects", "holds/shop.Recent", func(t *recorder) {
		s := shop.NewSession(1)
		e := shop.Recent.PushBack(s)
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Recent").MaxObjects(1))
		runtime.KeepAlive(e)
	}},
	{"container/ring", "holds/shop.Round", func(t *recorder) {
		shop.Round = ring.New(4)
		r := shop.Round.Next()
		r.Value = shop.NewSession(1)
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Round").MaxObjects(4))
		runtime.KeepAlive(r)
	}},
	{"container/heap", "holds/shop.Due", func(t *recorder) {
		s := shop.NewSession(1)
		heap.Push(&shop.Due, s)
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Due").MaxObjects(1))
		runtime.KeepAlive(s)
	}},
	{"linked list, its middle", "holds/shop.Head", func(t *recorder) {
		var middle *shop.Session
		for id := range 20 {
			s := shop.NewSession(id)
			s.Next, shop.Head = shop.Head, s
			if id == 10 {
				middle = s
			}
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Head").MaxObjects(20)) // ten of the sessions
		runtime.KeepAlive(middle)
	}},
	{"generic list", "holds/shop.Chain", func(t *recorder) {
		var all []*shop.Session
		for id := range 20 {
			s := shop.NewSession(id)
			shop.Chain.Add(s)
			all = append(all, s)
		}
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Chain").MaxObjects(3))
		runtime.KeepAlive(all)
	}},
	{"slice of boxes", "holds/shop.Boxed", func(t *recorder) {
		b := &shop.Box[*shop.Session]{V: shop.NewSession(1)}
		shop.Boxed = append(shop.Boxed, b)
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Boxed").MaxObjects(1))
		runtime.KeepAlive(b)
	}},
}

// The leak is a tree, a variable, or what a goroutine, a timer or an interface has.
var leaksOfStructures = []program{
	{"tree and index", "holds/shop.Tree", func(t *recorder) {
		shop.Tree = shop.Grow(0, 4000, nil, func(n *shop.Node) { shop.ByKey[n.Key] = n })
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Tree").MaxObjects(10))
	}},
	{"tree and a leaf of the test", "holds/shop.Tree", func(t *recorder) {
		var leaf *shop.Node
		shop.Tree = shop.Grow(0, 500, nil, func(n *shop.Node) { leaf = n })
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Tree").MaxObjects(10)) // parents lead from the leaf to all
		runtime.KeepAlive(leaf)
	}},
	{"variable", "holds/shop.Current", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Current = s
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Current").None())
		runtime.KeepAlive(s)
	}},
	{"field of a variable", "holds/shop.Registry", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Registry.Latest = s
		leakcheck.AssertRetained(t, leakcheck.Path("shop.Registry.Latest").None())
		runtime.KeepAlive(s)
	}},
	{"server of a variable", "holds/shop.Srv", func(t *recorder) {
		srv := shop.NewServer()
		shop.Srv = srv
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Srv").MaxObjects(10))
		runtime.KeepAlive(srv)
	}},
	{"listener", "holds/shop.Events", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Events.Listeners = append(shop.Events.Listeners, s)
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Events").MaxObjects(2))
		runtime.KeepAlive(s)
	}},
	{"closures in a map", "holds/shop.Hooks", func(t *recorder) {
		s := shop.NewSession(1)
		h := shop.Finish(s)
		shop.Hooks[1] = h
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Hooks").MaxObjects(1))
		runtime.KeepAlive(h)
	}},
	{"method values in a slice", "holds/shop.OnClose", func(t *recorder) {
		s := shop.NewSession(1)
		var hooks []func()
		for range 10 {
			hooks = append(hooks, s.Expire)
		}
		shop.OnClose = append(shop.OnClose, hooks...)
		leakcheck.AssertRetained(t, leakcheck.Path("shop.OnClose[*]").None())
		runtime.KeepAlive(hooks)
	}},
	{"map of a goroutine at work", "holds/shop.work.pending", func(t *recorder) {
		send, stop := shop.Work()
		defer stop()
		s := shop.NewSession(1)
		send(s)
		leakcheck.AssertRetained(t, leakcheck.Root("shop.work.pending").MaxObjects(1))
		runtime.KeepAlive(s)
	}},
	{"timers that are not stopped", "timer(example.com/holds/shop.(*Session).Expire)", func(t *recorder) {
		s := shop.NewSession(1)
		timer := shop.ExpireLater(s)
		defer timer.Stop()
		leakcheck.AssertRetained(t, leakcheck.Root("timer(shop.**)").None())
		runtime.KeepAlive(s)
	}},
	{"map of timers", "holds/shop.Deadlines", func(t *recorder) {
		timer := shop.CloseLater(shop.Srv)
		shop.Deadlines[1] = timer
		leakcheck.AssertRetained(t, leakcheck.Path("shop.Deadlines[*]").None())
		runtime.KeepAlive(timer)
	}},
	{"files with finalizers", "holds/shop.Files", func(t *recorder) {
		f := shop.Open(func() {})
		shop.Files = append(shop.Files, f)
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Files").MaxObjects(1))
		runtime.KeepAlive(f)
	}},
}
