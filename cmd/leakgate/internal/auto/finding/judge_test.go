package finding

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/verdict"
)

var modules = &Modules{
	Own:  []string{"example.com/app", "shop"},
	Deps: map[string]string{"example.com/app/v2/sub": "v2.1.0", "github.com/dep": "v1.0.0"},
	Closer: func(typ string) string {
		if typ == "*example.com/app.Server" {
			return "Close"
		}
		return ""
	},
	OnlyTests: func(function string) string {
		if function == "example.com/app.(*fake).start" {
			return "app.fake"
		}
		return ""
	},
	TestsAssign: func(variable string) bool { return variable == "example.com/app.Output" },
	Ignored: func(names ...string) (string, bool) {
		return "on purpose", slices.Contains(names, "example.com/app.known")
	},
	Std: symbol.NamedModules([]string{"shop"}),
}

// Each rule of classification has a case that it decides, and a similar one that it leaves alone.
func TestClass(t *testing.T) {
	for name, tt := range map[string]struct {
		bound  verdict.Bound
		want   Class
		module string
	}{
		"variable of the module": {
			verdict.Bound{File: "app.go", Holder: &verdict.Holder{Kind: "global", Root: "example.com/app.m", Package: "example.com/app"}}, Leak, "",
		},
		"module without a dot": {
			verdict.Bound{Holder: &verdict.Holder{Kind: "global", Root: "shop/cart.m", Package: "shop/cart"}}, Leak, "",
		},
		"variable in a test file": {
			verdict.Bound{File: "app_test.go", Holder: &verdict.Holder{Kind: "global", Package: "example.com/app"}}, Test, "",
		},
		"variable of the package beside": {
			verdict.Bound{Holder: &verdict.Holder{Kind: "global", Package: "example.com/app_test"}}, Test, "",
		},
		"variable of the test": {
			verdict.Bound{Holder: &verdict.Holder{Kind: "frame", Package: "example.com/app", Test: true}}, Test, "",
		},
		"in an object of the module that a test keeps": {
			verdict.Bound{Holder: &verdict.Holder{Kind: "frame", Test: true, Package: "example.com/app", Within: []string{"example.com/app"}}}, Held, "",
		},
		"in an object of the test's": {
			verdict.Bound{Holder: &verdict.Holder{Kind: "frame", Test: true, Package: "example.com/app", Within: []string{"example.com/app_test"}}}, Test, "",
		},
		"in an object of a dependency that a test keeps": {
			verdict.Bound{Holder: &verdict.Holder{Kind: "frame", Test: true, Package: "example.com/app", Within: []string{"bytes", "example.com/app_test", "github.com/dep/x"}}}, Dependency, "github.com/dep v1.0.0",
		},
		"goroutine of the module": {
			verdict.Bound{Holder: &verdict.Holder{
				Kind: "goroutine", Package: "example.com/app", At: "/x/app.go:3", CreatedBy: "example.com/app.New", CreatedAt: "/x/app.go:2",
			}}, Leak, "",
		},
		"goroutine that a test starts": {
			verdict.Bound{Holder: &verdict.Holder{Kind: "goroutine", Package: "example.com/app", At: "/x/app.go:3", CreatedAt: "/x/app_test.go:2"}}, Test, "",
		},
		"goroutine with a function of a test": {
			verdict.Bound{Holder: &verdict.Holder{Kind: "goroutine", Package: "example.com/app", At: "/x/app_test.go:3", CreatedAt: "/x/app.go:2"}}, Test, "",
		},
		"goroutine of the standard library": {
			verdict.Bound{Holder: &verdict.Holder{Kind: "goroutine", Package: "net/http", CreatedBy: "net/http.(*Transport).dialConn"}}, Library, "",
		},
		"goroutine of the standard library that the module starts": {
			verdict.Bound{Holder: &verdict.Holder{Kind: "goroutine", Package: "net/http", CreatedBy: "example.com/app.Serve"}}, Leak, "",
		},
		"variable of the standard library": {
			verdict.Bound{Holder: &verdict.Holder{Kind: "global", Package: "syscall", Packages: []string{"syscall"}}}, Library, "",
		},
		"variable of the standard library with a type of the module": {
			verdict.Bound{Holder: &verdict.Holder{Kind: "global", Package: "expvar", Packages: []string{"sync", "example.com/app"}}}, Leak, "",
		},
		"mapping that the module made": {
			verdict.Bound{Holder: &verdict.Holder{Kind: "global", Package: "syscall", Packages: []string{"syscall"}, CreatedBy: "example.com/app.Map"}}, Leak, "",
		},
		"mapping that the module made with a dependency": {
			verdict.Bound{Holder: &verdict.Holder{Kind: "global", Package: "github.com/dep/x", CreatedBy: "example.com/app.Map"}}, Leak, "",
		},
		"descriptor that nobody is known to have made": {verdict.Bound{Holder: &verdict.Holder{Kind: "resource"}}, Unnamed, ""},
		"descriptor of the standard library": {
			verdict.Bound{Holder: &verdict.Holder{Kind: "resource", CreatedBy: "net/http.(*Transport).dial"}}, Library, "",
		},
		"blocks of C code that a dependency calls": {
			verdict.Bound{Holder: &verdict.Holder{Kind: "resource", CreatedBy: "github.com/dep/x.(C code)"}}, Dependency, "github.com/dep v1.0.0",
		},
		"blocks of C code that the module calls": {verdict.Bound{Holder: &verdict.Holder{Kind: "resource", CreatedBy: "example.com/app.(C code)"}}, Leak, ""},
		"dependency": {
			verdict.Bound{Holder: &verdict.Holder{Kind: "global", Package: "github.com/dep/x"}}, Dependency, "github.com/dep v1.0.0",
		},
		"dependency below the module's path": {
			verdict.Bound{Holder: &verdict.Holder{Kind: "global", Package: "example.com/app/v2/sub"}}, Dependency, "example.com/app/v2/sub v2.1.0",
		},
		"no path": {verdict.Bound{Holder: &verdict.Holder{Kind: "other"}}, Unnamed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			class, module := modules.class(tt.bound)
			require.Equal(t, tt.want, class)
			require.Equal(t, tt.module, module)
		})
	}
}

// What a test holds and the module holds, too, is the module's, but for what an element leads to.
func TestAlso(t *testing.T) {
	h := &verdict.Holder{Kind: "global", Root: "example.com/app.jobs", Package: "example.com/app", Also: &verdict.Holder{
		Kind: "global", Root: "example.com/app.first", Package: "example.com/app", File: "app.go", Path: "example.com/app.first.next",
	}}
	b := verdict.Bound{File: "app_test.go", Path: "example.com/app.jobs[$key]", Holder: h}
	g := modules.judge(b)
	require.Equal(t, Leak, g.Class)
	require.Equal(t, "global example.com/app.first", g.Root)
	require.Equal(t, "example.com/app.first.next", g.Bound.Path)
	h.Also.Path = "example.com/app.clients[$key].log[*]"
	require.Equal(t, Test, modules.judge(b).Class)
	h.Also.Path, h.Also.File = "example.com/app.kept", "app_test.go"
	require.Equal(t, Test, modules.judge(b).Class)
}

// What the one goroutine of an object that can be closed keeps while the loop of a benchmark runs
// is the benchmark's. What it keeps beyond a test is a leak.
func TestLoop(t *testing.T) {
	h := &verdict.Holder{Kind: "frame", Root: "example.com/app.(*Server).run.s", Type: "*example.com/app.Server", Package: "example.com/app", Goroutines: 1}
	r := &verdict.Result{Bounds: []verdict.Bound{{Verdict: verdict.Fail, Objects: 100, Holder: h}}}
	require.Equal(t, Held, modules.Sort(r, true)[0].Class)
	require.Equal(t, Leak, modules.Sort(r, false)[0].Class)
	h.Type = "*example.com/app.Session"
	require.Equal(t, Leak, modules.Sort(r, true)[0].Class)
	h.Type, h.Kind = "*example.com/app.Server", "global"
	require.Equal(t, Leak, modules.Sort(r, true)[0].Class)
}

// A go statement is one root, whatever its line and whichever function it starts.
func TestRoot(t *testing.T) {
	one := root(&verdict.Holder{Kind: "goroutine", Root: "a.f", CreatedBy: "a.New", CreatedAt: "a.go:7"})
	require.Equal(t, one, root(&verdict.Holder{Kind: "goroutine", Root: "a.g", CreatedBy: "a.New", CreatedAt: "a.go:9"}))
	require.NotEqual(t, one, root(&verdict.Holder{Kind: "goroutine", Root: "a.f", CreatedBy: "a.Open", CreatedAt: "a.go:7"}))
	require.NotEqual(t, root(&verdict.Holder{Kind: "global", Root: "a.x"}), root(&verdict.Holder{Kind: "frame", Root: "a.x"}))
}

func TestRegistry(t *testing.T) {
	of := func(typ string) bool {
		return modules.judge(verdict.Bound{Holder: &verdict.Holder{Kind: "global", Package: "example.com/app", Type: typ}}).Registry
	}
	require.True(t, of("map[string]int"))
	require.True(t, of("[]func()"))
	require.False(t, of("*example.com/app.cache"))
}

// A goroutine of an object that can be closed counts as one that the test did not close.
func TestUnclosed(t *testing.T) {
	h := &verdict.Holder{Kind: "goroutine", Package: "example.com/app", CreatedBy: "example.com/app.New", Holds: []string{"chan int", "*example.com/app.Server"}}
	g := modules.judge(verdict.Bound{Holder: h})
	require.Equal(t, Unclosed, g.Class)
	require.Equal(t, "its *example.com/app.Server has Close", g.Reason)
	h.Holds = []string{"chan int"}
	require.Equal(t, Leak, modules.judge(verdict.Bound{Holder: h}).Class)
	for function, want := range map[string]Class{
		"example.com/app.(*Server).tick":       Unclosed, // another goroutine has the server in its Holds
		"example.com/app.(*Server).tick.func1": Leak,
		"example.com/app.(*Session).tick":      Leak,
		"example.com/app.Server.tick":          Leak,
		"example.com/app.tick":                 Leak,
	} {
		h.Runs = []string{"runtime.gopark", function}
		require.Equal(t, want, modules.judge(verdict.Bound{Holder: h}).Class, function)
	}
}

// Goroutines of an object that is not closed start each other, and no more grow of those that are
// started.
func TestUnclosedObject(t *testing.T) {
	grows := func(rate, root, createdBy string, runs ...string) verdict.Bound {
		return verdict.Bound{Verdict: verdict.Fail, Growth: rate + " goroutines/op", Holder: &verdict.Holder{
			Kind: "goroutine", Package: "example.com/app", Root: root, CreatedBy: createdBy, Runs: append(runs, root),
		}}
	}
	of := func(bounds ...verdict.Bound) (classes []Class) {
		for _, g := range modules.Sort(&verdict.Result{Bounds: bounds}, false) {
			classes = append(classes, g.Class)
		}
		return classes
	}
	runs := grows("+1.00", "example.com/app_test.TestServer.func1", "example.com/app_test.TestServer", "example.com/app.(*Server).Run")
	runs.Holder.Package, runs.Holder.CreatedAt = "example.com/app_test", "/x/app_test.go:3"
	handles := grows("+1.00", "example.com/app.(*Server).Handle.func1", "example.com/app.(*Server).Handle", "example.com/app.(*handler).run")
	waits := grows("+1.00", "example.com/app.(*handler).wait", "example.com/app.(*handler).run")
	require.Equal(t, []Class{Unclosed, Test, Unclosed}, of(waits, runs, handles))
	require.Equal(t, []Class{Leak, Leak}, of(waits, handles), "nothing runs the server")

	sends := grows("+1.00", "example.com/app.send", "example.com/app.Publish")
	reads := grows("+1.00", "example.com/app.(*Server).read", "example.com/app.send")
	require.Equal(t, []Class{Unclosed, Unclosed}, of(sends, reads))
	require.Equal(t, []Class{Unclosed, Unclosed, Unclosed}, of(grows("+2.00", "example.com/app.send", "example.com/app.Publish"), reads, reads), "of two tests")
	more := grows("+2.00", "example.com/app.send", "example.com/app.Publish")
	require.Equal(t, []Class{Leak, Unclosed}, of(more, reads))
	other := grows("+1.00", "example.com/app.other", "example.com/app.Publish")
	require.Equal(t, []Class{Leak, Unclosed}, of(other, reads))
}

// A goroutine is the tests' own if only tests use the function that starts it or runs in it, in
// whichever file that is.
func TestOnlyTests(t *testing.T) {
	h := &verdict.Holder{Kind: "goroutine", Package: "example.com/app", CreatedBy: "example.com/app.(*fake).start", CreatedAt: "/x/app.go:2"}
	g := modules.judge(verdict.Bound{Holder: h})
	require.Equal(t, Test, g.Class)
	require.Equal(t, "only tests use app.fake", g.Reason)
	h.CreatedBy, h.Root = "sync.(*WaitGroup).Go", h.CreatedBy
	require.Equal(t, Test, modules.judge(verdict.Bound{Holder: h}).Class)
	h.Root = "example.com/app.(*real).start"
	require.Equal(t, Leak, modules.judge(verdict.Bound{Holder: h}).Class)
	h.Runs = []string{"example.com/app_test.TestReal.func1", "example.com/app.(*real).start"} // a callback of the test's
	require.Equal(t, Test, modules.judge(verdict.Bound{Holder: h}).Class)
}

// A value that tests assign to a variable is the tests' own if its types are the standard
// library's, for example a buffer for output. Types of the module, and what a map of the module
// holds, may leak.
func TestTestsAssign(t *testing.T) {
	of := func(root, typ string, packages ...string) Class {
		return modules.judge(verdict.Bound{Holder: &verdict.Holder{Kind: "global", Root: root, Package: "example.com/app", Type: typ, Packages: packages}}).Class
	}
	require.Equal(t, Test, of("example.com/app.Output", "io.Writer", "bytes"))
	require.Equal(t, Leak, of("example.com/app.other", "io.Writer", "bytes"))
	require.Equal(t, Leak, of("example.com/app.Output", "io.Writer", "bytes", "example.com/app"))
	require.Equal(t, Leak, of("example.com/app.Output", "map[string]*bytes.Buffer", "bytes"))
	require.Equal(t, Leak, of("example.com/app.Output", "io.Writer"))
}

func TestSuppressed(t *testing.T) {
	g := modules.judge(verdict.Bound{Path: "example.com/app.known[*]", Holder: &verdict.Holder{Kind: "global", Root: "example.com/app.known", Package: "example.com/app"}})
	require.Equal(t, Suppressed, g.Class)
	require.Equal(t, "on purpose", g.Reason)
}

// Objects in a variable of many goroutines, one in each, are a leak if these goroutines are one.
// What few goroutines gather is a leak.
func TestPassing(t *testing.T) {
	held := verdict.Bound{Verdict: verdict.Fail, Objects: 100, Holder: &verdict.Holder{
		Kind: "frame", Root: "example.com/app.work.stop", Package: "example.com/app", CreatedAt: "/x/app.go:2", Goroutines: 120,
	}}
	goroutines := verdict.Bound{Verdict: verdict.Fail, Type: "goroutine", Holder: &verdict.Holder{
		Kind: "goroutine", Root: "example.com/app.work", Package: "example.com/app", CreatedBy: "example.com/app.New", CreatedAt: "/x/app.go:2",
	}}
	classes := func(bounds ...verdict.Bound) (all []Class) {
		for _, g := range modules.Sort(&verdict.Result{Bounds: bounds}, false) {
			all = append(all, g.Class)
		}
		return all
	}
	require.Equal(t, []Class{Passing}, classes(held))
	require.Equal(t, []Class{Leak, Leak}, classes(goroutines, held))
	other := *goroutines.Holder
	other.CreatedAt = "/x/app.go:9"
	goroutines.Holder = &other
	require.Equal(t, []Class{Passing, Leak}, classes(held, goroutines))
	held.Objects = 121
	require.Equal(t, []Class{Leak}, classes(held))
	one := *held.Holder
	one.Goroutines = 1
	held.Holder, held.Objects = &one, 1
	require.Equal(t, []Class{Leak}, classes(held))
}
