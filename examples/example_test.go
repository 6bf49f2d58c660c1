package examples

import "testing"

// An example is a folder with a leaky and a fixed module.
type example struct {
	folder string

	// upstream is the module that leaks, "" if the example itself does, and its version on each
	// side.
	upstream     string
	leaky, fixed string

	// roots are the beginnings of the names of the roots that really hold the memory.
	roots []string

	// fails has, for each test, what its failure must name: the root, where it is declared or
	// was started, and the type of what it holds.
	fails map[string][]string
}

var all = []example{
	{
		folder: "sessions",
		roots:  []string{"example.com/shop.sessions"},
		fails: map[string][]string{
			"TestNoGrowth":              {"+1.00 *shop.Session/op", "via example.com/shop.sessions[*]", "example.com/shop.sessions (shop.go:23)"},
			"TestLogoutDropsTheSession": {"example.com/shop.sessions (shop.go:23)", "[*]  *shop.Session", "100 entries"},
			"TestRetained":              {"example.com/shop.sessions (shop.go:23)", "[*]  *shop.Session", "101 entries"},
		},
	},
	{
		folder: "service",
		roots:  []string{"main.events"},
		fails: map[string][]string{
			"TestListen": {"memory of process ", "+1.00 chan string/op", "via main.events.listeners[$key]", "main.events (main.go:19)"},
		},
	},
	{
		folder:   "dns",
		upstream: "github.com/miekg/dns", leaky: "v1.0.14", fixed: "v1.1.0",
		roots: []string{"github.com/miekg/dns.(*Server).serveTCP.srv"},
		fails: map[string][]string{
			"TestQuestions": {"memory of process ", "+1.00 *net.TCPConn/op", "via github.com/miekg/dns.(*Server).serveTCP.srv.conns[$key]", "in the field conns of github.com/miekg/dns.Server"},
		},
	},
	{
		folder:   "gorilla-sessions",
		upstream: "github.com/gorilla/sessions", leaky: "v1.1.3", fixed: "v1.2.0",
		roots: []string{"github.com/gorilla/context.data", "github.com/gorilla/context.datat"},
		fails: map[string][]string{
			"TestNoGrowth": {"+1.00 *http.Request/op", "via github.com/gorilla/context.data[$key]", "context.go:15)"},
			"TestRequestsAreDropped": {
				"github.com/gorilla/context.data (", "context.go:15)", "100 entries",
				"[$key]  *http.Request", "[*].s  *sessions.Session",
			},
			"TestRetained": {"github.com/gorilla/context.data (", "context.go:15)", "github.com/gorilla/context.data[$key]"},
		},
	},
	{
		folder:   "expirable-lru",
		upstream: "github.com/hashicorp/golang-lru/v2", leaky: "v2.0.7", fixed: "v2.0.7",
		roots: []string{"github.com/hashicorp/golang-lru/v2/expirable.NewLRU["},
		fails: map[string][]string{
			"TestNoGrowth": {"+1.00 goroutine/op", "in github.com/hashicorp/golang-lru/v2/expirable.NewLRU[...].func1", "expirable_lru.go:82)"},
			"TestCloseDropsTheCache": {
				"the variable res of github.com/hashicorp/golang-lru/v2/expirable.NewLRU[", "in 50 goroutines", "created by",
				"expirable_lru.go:82", "*weather.Forecast",
			},
			"TestRetained": {
				"the variable res of github.com/hashicorp/golang-lru/v2/expirable.NewLRU[", "in 50 goroutines", "created by",
				"expirable_lru.go:82", "*weather.Forecast",
			},
		},
	},
	{
		folder:   "wazero",
		upstream: "github.com/tetratelabs/wazero", leaky: "v1.3.1", fixed: "v1.4.0",
		roots: []string{"finalizer(*github.com/tetratelabs/wazero/internal/engine/compiler.compiledModule)"},
		fails: map[string][]string{
			"TestNoGrowth": {"*wasm.Module/op", "via finalizer(*github.com/tetratelabs/wazero/internal/engine/compiler.compiledModule)"},
			"TestReloadDropsTheOldLog": {
				"held by a finalizer", "finalizer(*github.com/tetratelabs/wazero/internal/engine/compiler.compiledModule)",
				"*plugins.Log",
			},
			"TestRetained": {
				"held by a finalizer", "finalizer(*github.com/tetratelabs/wazero/internal/engine/compiler.compiledModule)",
			},
		},
	},
	{
		folder:   "failsafe",
		upstream: "github.com/failsafe-go/failsafe-go", leaky: "v0.9.5", fixed: "v0.9.7",
		roots: []string{"example.com/prices.running"},
		fails: map[string][]string{
			"TestNoGrowth":                 {"+1.00 *context.cancelCtx/op", "via example.com/prices.running.children[$key]\n", "example.com/prices.running (prices.go:13)"},
			"TestQuoteLeavesNothingBehind": {"example.com/prices.running (prices.go:13)", "*context.cancelCtx", "children", "100 entries"},
			"TestRetained":                 {"example.com/prices.running (prices.go:13)", "*context.cancelCtx", "children"},
		},
	},
}

// each runs check as a subtest for every example.
func each(t *testing.T, check func(t *testing.T, e example)) {
	t.Helper()
	for _, e := range all {
		t.Run(e.folder, func(t *testing.T) { check(t, e) })
	}
}
