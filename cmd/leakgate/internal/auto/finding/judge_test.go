package finding

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/repeat"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/source"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/verdict"
)

var modules = &Modules{
	Own:  []string{"example.com/app", "shop"},
	Deps: map[string]string{"example.com/app/v2/sub": "v2.1.0", "github.com/dep": "v1.0.0"},
	Handings: func(function string) []source.Handing {
		switch function {
		case "example.com/app.New":
			return []source.Handing{{Key: "example.com/app.New", Text: "call Close of the app.Server that app.New returns"}}
		case "example.com/app.(*Server).Handle":
			return []source.Handing{{Key: "example.com/app.Server", Receiver: "example.com/app.Server", Text: "call Close of its *app.Server"}}
		case "example.com/app.Get":
			return []source.Handing{{Text: "close the Body of what app.Get returns"}}
		case "example.com/app.Dial":
			return []source.Handing{{Key: "example.com/app.Dial#ctx", Text: "cancel the context"}, {Key: "example.com/app.Dial", Text: "call Close"}}
		case "example.com/app.Watch":
			return []source.Handing{{Key: "example.com/app.Watch#ctx", Text: "cancel the context that it gives to app.Watch"}}
		case "example.com/app.Put":
			return []source.Handing{{Key: "example.com/app.Put", Text: "call Delete for each Put", Container: true}}
		}
		return nil
	},
	Ends: func(typ string) string {
		if typ == "example.com/app.Session" {
			return "call Close of"
		}
		return ""
	},
	Sweeps: func(pkg, container string) string {
		if pkg == "example.com/app" && container == "answers" {
			return "app.clean"
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

// stack is the calls of a stack, by their functions: those that begin with "Test" are in a test
// file of example.com/app, and those without a package are in its other files.
func stack(functions ...string) []verdict.Call {
	var calls []verdict.Call
	for _, f := range functions {
		c := verdict.Call{Function: f, At: "/x/app.go:3"}
		switch {
		case isTestPackage(symbol.Package(f)):
			c.At = "/x/app_test.go:3"
		case strings.HasPrefix(f, "Test"):
			c = verdict.Call{Function: "example.com/app." + f, At: "/x/app_test.go:3"}
		case symbol.Package(f) == "":
			c.Function = "example.com/app." + f
		}
		calls = append(calls, c)
	}
	return calls
}

// judge judges one growth by itself.
func judge(h *verdict.Holder, lifetimes map[string]repeat.Lifetime) Growth {
	b := verdict.Bound{Verdict: verdict.Fail, Growth: "+1.00 goroutine/op", PerCall: 1, File: h.File, Path: h.Path, Type: h.Type, Holder: h}
	return modules.Sort(Evidence{&verdict.Result{Bounds: []verdict.Bound{b}}, lifetimes})[0]
}

// Whose growth it is follows from the innermost call that is a test's or the module's.
func TestMaker(t *testing.T) {
	for name, tt := range map[string]struct {
		holder verdict.Holder
		want   Class
		module string
	}{
		"the module's variable":                   {verdict.Holder{Kind: "global", Made: stack("login", "TestLogin")}, Leak, ""},
		"module without a dot":                    {verdict.Holder{Kind: "global", Made: stack("shop/cart.Add")}, Leak, ""},
		"made by a test":                          {verdict.Holder{Kind: "global", Made: stack("TestLogin")}, Test, ""},
		"made by the package beside":              {verdict.Holder{Kind: "global", Made: stack("example.com/app_test.login")}, Test, ""},
		"by a dependency, for the module":         {verdict.Holder{Kind: "goroutine", Package: "github.com/dep", Made: stack("github.com/dep/x.New", "open", "TestOpen")}, Leak, ""},
		"by a dependency, for a test":             {verdict.Holder{Kind: "goroutine", Package: "github.com/dep", Made: stack("github.com/dep/x.New", "TestOpen")}, Test, ""},
		"by a dependency alone":                   {verdict.Holder{Kind: "goroutine", Made: stack("github.com/dep/x.run")}, Dependency, "github.com/dep v1.0.0"},
		"by a dependency below the module's path": {verdict.Holder{Kind: "goroutine", Made: stack("example.com/app/v2/sub.run")}, Dependency, "example.com/app/v2/sub v2.1.0"},
		"the module keeps what a test made":       {verdict.Holder{Kind: "global", Made: stack("TestLogin"), Filled: stack("add", "TestLogin"), Container: "map[*net/http.Request]int"}, Leak, ""},
		"a callback of a test's":                  {verdict.Holder{Kind: "global", Made: stack("TestLogin"), Filled: stack("add", "TestLogin"), Container: "[]func()"}, Test, ""},
		"names of a test's":                       {verdict.Holder{Kind: "global", Filled: stack("add", "TestLogin"), Container: "map[string]bool"}, Leak, ""},
		"a dependency's own record":               {verdict.Holder{Kind: "global", Package: "github.com/dep/x", Made: stack("github.com/dep/x.New", "open"), Filled: stack("github.com/dep/x.add", "open")}, Dependency, "github.com/dep v1.0.0"},
		"a test keeps what the module made":       {verdict.Holder{Kind: "global", File: "app_test.go", Made: stack("make", "TestMake"), Filled: stack("TestMake")}, Test, ""},
		"an object that a test keeps":             {verdict.Holder{Kind: "frame", Test: true, Within: []string{"example.com/app"}, Made: stack("add", "TestAdd")}, Unended, ""},
		"a test's buffer":                         {verdict.Holder{Kind: "frame", Test: true, Within: []string{"bytes"}, Made: stack("log", "TestLog")}, Test, ""},
		"a test's database, and the usual mistake": {
			verdict.Holder{Kind: "frame", Test: true, Type: "*database/sql.driverConn", Within: []string{"database/sql"}, Cause: "sql.Rows are not closed", Made: stack("first", "TestFirst")}, Leak, "",
		},
		"an object that a test keeps, and the usual mistake": {
			verdict.Holder{Kind: "global", File: "app_test.go", Type: "*context.timerCtx", Within: []string{"example.com/app"}, Cause: "the cancel function of a context is not called", Made: stack("example.com/app.(*Server).Handle", "TestHandle")}, Leak, "",
		},
		"parts of strings that a test keeps": {
			verdict.Holder{Kind: "global", File: "app_test.go", Type: "string", Cause: "a part of a string keeps all of it alive", Made: stack("cut", "TestCut")}, Test, "",
		},
		"a variable that only tests use":        {verdict.Holder{Kind: "global", Root: "example.com/app.(*fake).start", Made: stack("add", "TestAdd")}, Test, ""},
		"goroutine with a function of a test's": {verdict.Holder{Kind: "goroutine", At: "/x/app_test.go:3", Made: stack("Go", "TestGo")}, Test, ""},
		"goroutine with a call of a test's":     {verdict.Holder{Kind: "goroutine", Runs: stack("example.com/app_test.TestGo.func1"), Made: stack("Go", "TestGo")}, Test, ""},
		"what only tests use":                   {verdict.Holder{Kind: "goroutine", Made: stack("example.com/app.(*fake).start", "Go")}, Test, ""},

		// without a known maker, by what holds it
		"variable of the module":              {verdict.Holder{Kind: "global", Package: "example.com/app"}, Leak, ""},
		"variable in a test file":             {verdict.Holder{Kind: "global", Package: "example.com/app", File: "app_test.go"}, Test, ""},
		"variable of the test":                {verdict.Holder{Kind: "frame", Package: "example.com/app", Test: true}, Test, ""},
		"variable of a dependency":            {verdict.Holder{Kind: "global", Package: "github.com/dep/x"}, Dependency, "github.com/dep v1.0.0"},
		"variable of the standard library":    {verdict.Holder{Kind: "global", Package: "syscall", Packages: []string{"syscall"}}, Unnamed, ""},
		"the same, with a type of a module's": {verdict.Holder{Kind: "global", Package: "expvar", Packages: []string{"sync", "example.com/app"}}, Leak, ""},
		"blocks of C":                         {verdict.Holder{Kind: "resource", CreatedBy: "github.com/dep/x.(C code)"}, Dependency, "github.com/dep v1.0.0"},
		"descriptor":                          {verdict.Holder{Kind: "resource"}, Unnamed, ""},
		"no path":                             {verdict.Holder{Kind: "other"}, Unnamed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := judge(&tt.holder, nil)
			require.Equal(t, tt.want, g.Class, g.Reason)
			require.Equal(t, tt.module, g.Module)
		})
	}
}

// What the module hands to a test is a leak if the test ends it, and the test's if it does not.
func TestHandedOut(t *testing.T) {
	type counts = map[string]repeat.Lifetime
	for name, tt := range map[string]struct {
		made   []verdict.Call
		counts counts
		want   Class
	}{
		"not ended":                     {stack("run", "New", "TestNew"), counts{"example.com/app.New": {Made: 1}}, Unended},
		"ended":                         {stack("run", "New", "TestNew"), counts{"example.com/app.New": {Made: 1, Ended: 1}}, Leak},
		"one of ten is not ended":       {stack("run", "New", "TestNew"), counts{"example.com/app.New": {Made: 10, Ended: 9}}, Unended},
		"ended in most calls":           {stack("run", "New", "TestNew"), counts{"example.com/app.New": {Made: 1, Ended: 0.9}}, Leak},
		"not counted":                   {stack("run", "New", "TestNew"), nil, Unended},
		"made before":                   {stack("run", "New", "TestNew"), counts{}, Unended},
		"nothing was handed out":        {stack("run", "New", "TestNew"), counts{"example.com/app.New": {Nothing: 1}}, Leak},
		"the module's own call of it":   {stack("run", "New", "Serve", "TestServe"), counts{"example.com/app.New": {Made: 1}}, Leak},
		"a function of the test's":      {stack("run", "New", "TestNew", "Serve"), counts{"example.com/app.New": {Made: 1}}, Unended},
		"its receiver is not ended":     {stack("example.com/app.(*Server).Handle", "TestNew"), counts{"example.com/app.Server": {Made: 1}}, Unended},
		"its receiver is ended":         {stack("example.com/app.(*Server).Handle", "TestNew"), counts{"example.com/app.Server": {Made: 1, Ended: 1}}, Leak},
		"the standard library's object": {stack("Get", "TestGet"), counts{}, Unended},
		"a context goes on":             {stack("Watch", "TestWatch"), counts{"example.com/app.Watch#ctx": {Made: 1}}, Unended},
		"a context is cancelled":        {stack("Watch", "TestWatch"), counts{"example.com/app.Watch#ctx": {Made: 1, Ended: 1}}, Leak},
		"the context of a call":         {stack("Dial", "TestDial"), counts{"example.com/app.Dial#ctx": {Made: 1, Ended: 1}, "example.com/app.Dial": {Made: 1}}, Unended},
		"no entry is made":              {stack("Put", "TestPut"), counts{"example.com/app.Put": {Made: 1}}, Leak},
	} {
		t.Run(name, func(t *testing.T) {
			g := judge(&verdict.Holder{Kind: "goroutine", Made: tt.made}, tt.counts)
			require.Equal(t, tt.want, g.Class, g.Reason)
		})
	}
	entry := &verdict.Holder{Kind: "global", Filled: stack("Put", "TestPut")}
	require.Equal(t, Unended, judge(entry, counts{"example.com/app.Put": {Made: 1}}).Class)
	require.Equal(t, Leak, judge(entry, counts{"example.com/app.Put": {Made: 1, Ended: 1}}).Class)
	handled := &verdict.Holder{Kind: "global", Type: "*context.timerCtx", Types: []string{"example.com/app.Server"}, Cause: "the cancel function of a context is not called", Made: stack("example.com/app.(*Server).Handle", "TestHandle")}
	require.Equal(t, Unended, judge(handled, counts{"example.com/app.Server": {Made: 1}}).Class)
	require.Equal(t, Leak, judge(handled, counts{}).Class, "the server outlives the calls")
	g := judge(&verdict.Holder{Kind: "goroutine", Made: stack("run", "New", "TestNew")}, counts{"example.com/app.New": {Made: 2, Ended: 1}})
	require.True(t, g.Mixed)
	require.Equal(t, "the test does not call Close of the app.Server that app.New returns", g.Reason)
}

// As long as the test does not end the call of Serve, what Serve starts is the test's.
func TestUnderWay(t *testing.T) {
	worker := verdict.Bound{Verdict: verdict.Fail, Growth: "+1.00 goroutine/op", PerCall: 1, Holder: &verdict.Holder{Kind: "goroutine", Made: stack("start", "Serve", "TestServe.func1")}}
	serves := verdict.Bound{Verdict: verdict.Fail, Growth: "+1.00 goroutine/op", PerCall: 1, Holder: &verdict.Holder{
		Kind: "goroutine", Root: "example.com/app.TestServe.func1", Made: stack("TestServe"), Runs: stack("Serve", "TestServe.func1"),
	}}
	classes := func(bounds ...verdict.Bound) (all []Class) {
		for _, g := range modules.Sort(Evidence{&verdict.Result{Bounds: bounds}, nil}) {
			all = append(all, g.Class)
		}
		return all
	}
	require.Equal(t, []Class{Unended, Test}, classes(worker, serves))
	serves.Holder.Runs = serves.Holder.Runs[1:]
	require.Equal(t, []Class{Leak, Test}, classes(worker, serves))
}

// What a test holds and the module holds, too, is the module's, but for what an element leads to.
func TestAlso(t *testing.T) {
	h := &verdict.Holder{Kind: "global", Root: "example.com/app.jobs", Package: "example.com/app", File: "app_test.go", Path: "example.com/app.jobs[$key]", Made: stack("add", "TestAdd")}
	h.Also = &verdict.Holder{Kind: "global", Root: "example.com/app.first", Package: "example.com/app", File: "app.go", Path: "example.com/app.first.next"}
	g := judge(h, nil)
	require.Equal(t, Leak, g.Class)
	require.Equal(t, "global example.com/app.first.next by example.com/app.add", g.Root)
	require.Equal(t, "example.com/app.first.next", g.Bound.Path)
	h.Also.Path = "example.com/app.clients[$key].log[*]"
	require.Equal(t, Test, judge(h, nil).Class)
	h.Also.Path, h.Also.File = "example.com/app.kept", "app_test.go"
	require.Equal(t, Test, judge(h, nil).Class)
}

// A go statement of the module's is one root, whatever its line and whichever function it starts. A
// variable is one for each function that makes what it holds.
func TestRoot(t *testing.T) {
	of := func(h verdict.Holder) string { return judge(&h, nil).Root }
	one := of(verdict.Holder{Kind: "goroutine", Root: "a.f", CreatedBy: "example.com/app.New", CreatedAt: "a.go:7", Made: stack("New", "TestNew")})
	require.Equal(t, one, of(verdict.Holder{Kind: "goroutine", Root: "a.g", CreatedBy: "example.com/app.New", CreatedAt: "a.go:9", Made: stack("New", "TestMore")}))
	require.NotEqual(t, one, of(verdict.Holder{Kind: "goroutine", Root: "a.f", CreatedBy: "example.com/app.Open", CreatedAt: "a.go:7", Made: stack("Open")}))
	dial := verdict.Holder{Kind: "goroutine", CreatedBy: "net/http.(*Transport).dialConn", CreatedAt: "a.go:7", Made: stack("Get", "TestGet")}
	other := dial
	other.Made = stack("Post", "TestPost")
	require.NotEqual(t, of(dial), of(other))
	login := verdict.Holder{Kind: "global", Root: "a.x", Path: "a.x.users[*].name", Made: stack("login")}
	put := verdict.Holder{Kind: "global", Root: "a.x", Path: "a.x.docs[*]", Made: stack("put")}
	require.NotEqual(t, of(login), of(put))
	put.Path, put.Made = "a.x.users[*]", stack("login")
	require.Equal(t, of(login), of(put))
}

func TestRegistry(t *testing.T) {
	of := func(typ string) bool {
		return judge(&verdict.Holder{Kind: "global", Package: "example.com/app", Type: typ}, nil).Registry
	}
	require.True(t, of("map[string]int"))
	require.True(t, of("[]func()"))
	require.False(t, of("*example.com/app.cache"))
}

// A value that tests assign to a variable is the tests' own if its types are the standard
// library's, for example a buffer for output. Types of the module, and what a map of the module
// holds, may leak.
func TestTestsAssign(t *testing.T) {
	of := func(root, typ string, packages ...string) Class {
		return judge(&verdict.Holder{Kind: "global", Root: root, Package: "example.com/app", Type: typ, Packages: packages, Made: stack("log", "TestLog")}, nil).Class
	}
	require.Equal(t, Test, of("example.com/app.Output", "io.Writer", "bytes"))
	require.Equal(t, Leak, of("example.com/app.other", "io.Writer", "bytes"))
	require.Equal(t, Leak, of("example.com/app.Output", "io.Writer", "bytes", "example.com/app"))
	require.Equal(t, Leak, of("example.com/app.Output", "map[string]*bytes.Buffer", "bytes"))
	require.Equal(t, Leak, of("example.com/app.Output", "io.Writer"))
}

func TestSuppressed(t *testing.T) {
	g := judge(&verdict.Holder{Kind: "global", Root: "example.com/app.known", Path: "example.com/app.known[*]", Package: "example.com/app"}, nil)
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
		for _, g := range modules.Sort(Evidence{&verdict.Result{Bounds: bounds}, nil}) {
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

// What the modules take out of a container when it is old, and timers for deadlines, are no leaks.
func TestExpiring(t *testing.T) {
	made := stack("example.com/app.Resolve", "TestResolve")
	for _, tt := range []struct {
		path   string
		holder verdict.Holder
		want   Class
	}{
		{"example.com/app.answers[*]", verdict.Holder{Kind: "global", Root: "example.com/app.answers", Package: "example.com/app", Made: made}, Expiring},
		{"example.com/app.others[*]", verdict.Holder{Kind: "global", Root: "example.com/app.others", Package: "example.com/app", Made: made}, Leak},
		{"example.com/app.others[*].answers", verdict.Holder{Kind: "global", Root: "example.com/app.others", Package: "example.com/app", Made: made}, Leak},
		{"example.com/app.clean.c.answers[*]", verdict.Holder{Kind: "frame", Root: "example.com/app.clean.c", Package: "example.com/app", Made: made}, Expiring},
		{"example.com/app.answers[*]", verdict.Holder{Kind: "goroutine", Root: "example.com/app.run", Package: "example.com/app", Made: made}, Leak},
		{"timer(net.(*pipe).SetDeadline).$fn", verdict.Holder{Kind: "timer", Root: "timer(net.(*pipe).SetDeadline)", Made: made}, Expiring},
		{"timer(context.WithTimeout).$fn", verdict.Holder{Kind: "timer", Root: "timer(context.WithTimeout)", Made: made}, Leak},
	} {
		b := verdict.Bound{Path: tt.path, Verdict: verdict.Fail, Holder: &tt.holder}
		all := modules.Sort(Evidence{Record: &verdict.Result{Bounds: []verdict.Bound{b}}})
		require.Equal(t, tt.want, all[0].Class, tt.path)
	}
}
