package heapgraph

import "testing"

func TestPackageOf(t *testing.T) {
	for symbol, want := range map[string]string{
		"example.com/app.sessions":                              "example.com/app",
		"example.com/app.(*Cache[int]).Get":                     "example.com/app",
		"example.com/app.Cache[example.com/other/x.T]":          "example.com/app",
		"gopkg.in/yaml%2ev3.(*node).x":                          "gopkg.in/yaml.v3",
		"main.main.func1":                                       "main",
		"runtime.gopark":                                        "runtime",
		"net/http.(*conn).serve":                                "net/http",
		"github.com/leakgate/leakgate/leakcheck.AssertRetained": "github.com/leakgate/leakgate/leakcheck",
		"int": "",
	} {
		if got := PackageOf(symbol); got != want {
			t.Errorf("%s: %q, want %q", symbol, got, want)
		}
	}
}

func TestToolPackages(t *testing.T) {
	for pkg, want := range map[string]bool{
		toolPrefix + "leakcheck": true, toolPrefix + "refscan/internal/image": true, toolPrefix + "internal/verdict": true,
		toolPrefix + "refscan_test": false, toolPrefix + "examples": false, toolPrefix + "internal": false, "leakcheck": false,
	} {
		if isTool(pkg) != want {
			t.Errorf("%s: %v", pkg, !want)
		}
	}
}

func TestCutTypeArgs(t *testing.T) {
	for args, want := range map[string][2]string{
		"int,string":                                    {"int", "string"},
		"map[string]int,func(int, bool) error":          {"map[string]int", "func(int, bool) error"},
		"struct { a int; b x.P[int,int] },interface {}": {"struct { a int; b x.P[int,int] }", "interface {}"},
	} {
		k, v, ok := cutTypeArgs(args)
		if !ok || k != want[0] || v != want[1] {
			t.Errorf("%s: %q %q %v", args, k, v, ok)
		}
	}
	if _, _, ok := cutTypeArgs("onlyone[a,b]"); ok {
		t.Error("no comma outside of brackets, but cut")
	}
}

func TestNamedTypes(t *testing.T) {
	for name, want := range map[string]bool{
		"example.com/app.T": true, "example.com/app.Box[*example.com/app.T]": true,
		"map[string]example.com/app.T": false, "[]app.T": false, "*app.T": false, "func(app.T)": false, "struct { x app.T }": false, "int": false,
	} {
		if isNamed(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

func TestBitset(t *testing.T) {
	b := newBitset(130)
	for _, i := range []uint32{0, 63, 64, 129} {
		if b.has(i) || !b.add(i) || b.add(i) || !b.has(i) {
			t.Errorf("%d", i)
		}
	}
	if b.has(1) || b.has(128) {
		t.Error("a neighbour is in")
	}
}
