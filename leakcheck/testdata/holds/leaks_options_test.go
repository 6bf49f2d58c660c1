package holds

import (
	"flag"
	"net/http"
	"runtime"
	"text/template"
	"weak"

	"example.com/holds/depot"
	"example.com/holds/shop"
	"github.com/leakgate/leakgate/leakcheck"
)

const shopOnly = "example.com/holds/shop"

// Values of the standard library stay in a registry, and the test goes on to use them.
var leaksOfLibraries = []program{
	{"loggers", "holds/shop.Loggers", func(t *recorder) {
		l := shop.NewLogger()
		shop.Loggers["a"] = l
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Loggers").MaxObjects(1))
		runtime.KeepAlive(l)
	}},
	{"flag sets", "holds/shop.FlagSets", func(t *recorder) {
		fs := flag.NewFlagSet("a", flag.ContinueOnError)
		shop.FlagSets["a"] = fs
		leakcheck.AssertRetained(t, leakcheck.Root("shop.FlagSets").MaxObjects(1))
		runtime.KeepAlive(fs)
	}},
	{"templates", "holds/shop.Parsed", func(t *recorder) {
		tmpl := template.Must(template.New("a").Parse("{{.A}}"))
		shop.Parsed["a"] = tmpl
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Parsed").MaxObjects(1))
		runtime.KeepAlive(tmpl)
	}},
	{"statements", "holds/shop.Stmts", func(t *recorder) {
		db := shop.OpenDB()
		defer db.Close()
		stmt, _ := db.Prepare("a")
		shop.Stmts["a"] = stmt
		leakcheck.AssertRetained(t, leakcheck.Path("shop.Stmts[*]").None())
		runtime.KeepAlive(stmt)
	}},
	{"web servers", "holds/shop.Listening", func(t *recorder) {
		srv := &http.Server{Addr: ":0", Handler: http.NewServeMux()}
		shop.Listening["a"] = srv
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Listening").MaxObjects(1))
		runtime.KeepAlive(srv)
	}},
}

// The second holder is ignored, or out of scope.
var leaksLeftOut = []program{
	{"ignored root, type", "holds/shop.Sessions", func(t *recorder) {
		shop.Index[1] = leak()
		leakcheck.AssertRetained(t, leakcheck.Type[*shop.Session]().None(), leakcheck.Ignore("shop.Index", "meant"))
	}},
	{"ignored root, root", "holds/shop.App", func(t *recorder) {
		s := shop.NewSession(1)
		shop.App.Store.Sessions[1], shop.Index[1] = s, s
		leakcheck.AssertRetained(t, leakcheck.Path("shop.App.Store.Sessions[*]").None(), leakcheck.Ignore("shop.Index", "meant"))
	}},
	{"ignored variable, deeper leak", "holds/shop.App", func(t *recorder) {
		s := shop.NewSession(1)
		shop.App.Store.Sessions[1], shop.Current = s, s
		leakcheck.AssertRetained(t, leakcheck.Type[*shop.Session]().None(), leakcheck.Ignore("shop.Current", "in use"))
	}},
	{"ignored path", "holds/shop.Tenants", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Srv.Cache[1], shop.Tenants["a"] = s, map[int]*shop.Session{1: s}
		leakcheck.AssertRetained(t, leakcheck.Type[*shop.Session]().None(), leakcheck.Ignore("shop.Srv.Cache", "a cache"))
	}},
	{"ignored path beside the leak", "holds/shop.Srv", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Srv.Cache[1], shop.Srv.Store.Sessions[1] = s, s
		leakcheck.AssertRetained(t, leakcheck.Type[*shop.Session]().None(), leakcheck.Ignore("shop.Srv.Cache", "a cache"))
	}},
	{"ignored timers", "holds/shop.Sessions", func(t *recorder) {
		defer shop.ExpireLater(leak()).Stop()
		leakcheck.AssertRetained(t, leakcheck.Type[*shop.Session]().None(), leakcheck.Ignore("timer(...)", "time limits"))
	}},
	{"ignored goroutine", "holds/shop.Srv", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Srv.Sessions[1] = s
		stop := shop.Serve(s)
		defer stop()
		leakcheck.AssertRetained(t, leakcheck.Type[*shop.Session]().None(), leakcheck.Ignore("shop.serve", "at work"))
	}},
	{"type, no scope", "holds/shop.Sessions", func(t *recorder) {
		s := leak()
		leakcheck.AssertRetained(t, leakcheck.Type[*shop.Session]().None())
		runtime.KeepAlive(s)
	}},
	{"scope, the test's variable", "holds/shop.Sessions", func(t *recorder) {
		s := leak()
		leakcheck.AssertRetained(t, leakcheck.Type[*shop.Session]().None(), leakcheck.Scope(shopOnly))
		runtime.KeepAlive(s)
	}},
	{"scope, the test's variable, named type", "holds/shop.App", func(t *recorder) {
		s := shop.NewSession(1)
		shop.App.Store.Sessions[1] = s
		leakcheck.AssertRetained(t, leakcheck.TypeNamed("shop.Session").None(), leakcheck.Scope(shopOnly))
		runtime.KeepAlive(s)
	}},
	{"scope, a variable of the test's package", "holds/shop.Live", func(t *recorder) {
		s := shop.NewSession(1)
		shop.Live.Store(1, s)
		seen = append(seen, s)
		leakcheck.AssertRetained(t, leakcheck.Type[*shop.Session]().None(), leakcheck.Scope(shopOnly))
	}},
	{"scope, another package", "holds/shop.App", func(t *recorder) {
		s := shop.NewSession(1)
		shop.App.Store.Sessions[1], depot.Last = s, s
		leakcheck.AssertRetained(t, leakcheck.Type[*shop.Session]().None(), leakcheck.Scope(shopOnly))
	}},
	{"scope, root, another package", "holds/shop.Recent", func(t *recorder) {
		s := &shop.Session{Buf: make([]byte, 64<<10)}
		shop.Recent.PushBack(s)
		depot.Shelf = append(depot.Shelf, s)
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Recent").MaxBytes(1<<10), leakcheck.Scope(shopOnly))
	}},
}

// The verb is another than a bound of objects or bytes.
var leaksOfVerbs = []program{
	{"retained bytes, the test's variable", "holds/shop.Sessions", func(t *recorder) {
		s := &shop.Session{Buf: make([]byte, 64<<10)}
		shop.Sessions[1] = s
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Sessions").MaxRetainedBytes(4<<10))
		runtime.KeepAlive(s)
	}},
	{"retained objects, a fixture", "holds/shop.Srv", func(t *recorder) {
		e := fixture(env{srv: shop.Srv})
		for id := range 20 {
			s := shop.NewSession(id)
			s.Srv = e.srv
			shop.Srv.Sessions[id] = s
			e.sessions = append(e.sessions, s)
		}
		leakcheck.AssertRetained(t, leakcheck.Path("shop.Srv.Sessions[*]").MaxRetainedObjects(4))
		runtime.KeepAlive(e)
	}},
	{"retained bytes, a goroutine of the test", "holds/shop.Tenants", func(t *recorder) {
		s := &shop.Session{Buf: make([]byte, 64<<10)}
		shop.Tenants["a"] = map[int]*shop.Session{1: s}
		stop := waits(s)
		defer stop()
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Tenants").MaxRetainedBytes(4<<10))
	}},
	{"golden file, the test's variable", "holds/shop.Sessions[*].Buf", func(t *recorder) {
		t.goldens()
		leakcheck.AssertRetained(t, leakcheck.Golden("own"))
		s := leak()
		leakcheck.AssertRetained(t, leakcheck.Golden("own"))
		runtime.KeepAlive(s)
	}},
	{"golden file, a fixture, nested", "holds/shop.App.Store.Sessions[*].Buf", func(t *recorder) {
		t.goldens()
		leakcheck.AssertRetained(t, leakcheck.Golden("nested"))
		e := fixture(env{sess: shop.NewSession(1)})
		shop.App.Store.Sessions[1] = e.sess
		leakcheck.AssertRetained(t, leakcheck.Golden("nested"))
		runtime.KeepAlive(e)
	}},
	{"golden file, with a scope", "holds/shop.Sessions[*].Buf", func(t *recorder) {
		t.goldens()
		depot.Last = shop.NewSession(1)
		leakcheck.AssertRetained(t, leakcheck.Golden("scope"), leakcheck.Scope(shopOnly))
		shop.Sessions[1] = depot.Last
		leakcheck.AssertRetained(t, leakcheck.Golden("scope"), leakcheck.Scope(shopOnly))
	}},
	{"golden file, a variable and the test's", "holds/shop.Current", func(t *recorder) {
		t.goldens()
		leakcheck.AssertRetained(t, leakcheck.Golden("variable"))
		s := shop.NewSession(1)
		shop.Current = s
		leakcheck.AssertRetained(t, leakcheck.Golden("variable"))
		runtime.KeepAlive(s)
	}},
	{"golden file, a goroutine at work", "holds/shop.Current", func(t *recorder) {
		t.goldens()
		s := shop.NewSession(1)
		stop := shop.Serve(s)
		defer stop()
		leakcheck.AssertRetained(t, leakcheck.Golden("goroutine"))
		shop.Current = s
		leakcheck.AssertRetained(t, leakcheck.Golden("goroutine"))
	}},
	{"golden file, a library's variable", "holds/shop.Recent", func(t *recorder) {
		t.goldens()
		s, before := shop.NewSession(1), http.DefaultServeMux
		defer func() { http.DefaultServeMux = before }()
		http.DefaultServeMux = http.NewServeMux()
		http.HandleFunc("/", func(http.ResponseWriter, *http.Request) { s.Expire() })
		leakcheck.AssertRetained(t, leakcheck.Golden("library"))
		shop.Recent.PushBack(s)
		leakcheck.AssertRetained(t, leakcheck.Golden("library"))
	}},
	{"since", "holds/shop.Sessions", func(t *recorder) {
		base := leakcheck.TakeBaseline(t)
		s := leak()
		leakcheck.AssertRetained(t, leakcheck.Root("shop.Sessions").None(), leakcheck.Since(base))
		runtime.KeepAlive(s)
	}},
	{"since, an object of before", "holds/shop.Sessions", func(t *recorder) {
		shop.Current = shop.NewSession(1)
		base := leakcheck.TakeBaseline(t)
		shop.Sessions[1] = shop.Current
		leakcheck.AssertRetained(t, leakcheck.Path("shop.Sessions[*]").None(), leakcheck.Since(base))
	}},
	{"growth, an ignored map", "holds/shop.Sessions", func(t *recorder) {
		id := 0
		leakcheck.AssertNoGrowth(t, func() {
			s := shop.NewSession(id)
			shop.Index[id], shop.Sessions[id] = s, s
			id++
		}, leakcheck.Ignore("shop.Index", "meant"))
	}},
	{"growth, an ignored slice", "holds/shop.App", func(t *recorder) {
		id := 0
		leakcheck.AssertNoGrowth(t, func() {
			s := shop.NewSession(id)
			shop.App.Store.Sessions[id], shop.Queue = s, append(shop.Queue, s)
			id++
		}, leakcheck.Ignore("shop.Queue", "meant"))
	}},
	{"growth, an ignored list", "holds/shop.Head", func(t *recorder) {
		leakcheck.AssertNoGrowth(t, func() {
			s := shop.NewSession(1)
			s.Next, shop.Head = shop.Head, s
			shop.Queue = append(shop.Queue, s)
		}, leakcheck.Ignore("shop.Queue", "meant"))
	}},
	{"growth, the test's slice", "holds/shop.Sessions", func(t *recorder) {
		var all []*shop.Session
		leakcheck.AssertNoGrowth(t, func() {
			s := shop.NewSession(len(all))
			shop.Sessions[s.ID], all = s, append(all, s)
		})
		runtime.KeepAlive(all)
	}},
	{"expected death, a goroutine of the test", "holds/shop.Sessions", func(t *recorder) {
		s := leak()
		t.Cleanup(waits(s)) // ends after the check
		leakcheck.ExpectCollected(t, s, "logged out")
	}},
	{"expected death, the variable current", "holds/shop.Sessions holds/shop.Current", func(t *recorder) {
		shop.Current = leak()
		leakcheck.AssertCollected(t, weak.Make(shop.Current), "logged out")
	}},
	{"expected death, the test's variable", "holds/shop.Sessions", func(t *recorder) {
		s := leak()
		leakcheck.AssertCollected(t, weak.Make(s), "logged out")
		runtime.KeepAlive(s)
	}},
}
