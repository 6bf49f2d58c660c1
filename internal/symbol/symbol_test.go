package symbol

import (
	"testing"

	"github.com/leakgate/leakgate/internal/require"
)

func TestPackage(t *testing.T) {
	for name, want := range map[string]string{
		"example.com/app.sessions":                              "example.com/app",
		"example.com/app.(*Cache[int]).Get":                     "example.com/app",
		"example.com/app.Cache[example.com/other/x.T]":          "example.com/app",
		"gopkg.in/yaml%2ev3.(*node).x":                          "gopkg.in/yaml.v3",
		"main.main.func1":                                       "main",
		"runtime.gopark":                                        "runtime",
		"net/http.(*conn).serve":                                "net/http",
		"github.com/leakgate/leakgate/leakcheck.AssertRetained": "github.com/leakgate/leakgate/leakcheck",
		"int":                          "",
		"type:.eq.app.T":               "",
		"go:itab.app.T":                "",
		"struct { example.com/app.T }": "",
		"map[string]example.com/app.T": "",
	} {
		require.Equal(t, want, Package(name), name)
	}
}

func TestUnescape(t *testing.T) {
	for name, want := range map[string]string{
		"gopkg.in/yaml%2ev3.Node":   "gopkg.in/yaml.v3.Node",
		"example.com/%c3%bc.T":      "example.com/\u00fc.T",
		`struct { A int "100%25" }`: `struct { A int "100%25" }`,
		"half%2":                    "half%2",
		"%zz.T":                     "%zz.T",
	} {
		require.Equal(t, want, Unescape(name))
	}
}

func TestIsTool(t *testing.T) {
	for pkg, want := range map[string]bool{
		toolModule + "leakcheck": true, toolModule + "internal/engine/image": true,
		toolModule + "internal/verdict": true, toolModule + "internal/symbol": true, toolModule + "refscan_test": false,
		toolModule + "examples": false, toolModule + "internal": true, "leakcheck": false,
	} {
		require.Equal(t, want, IsTool(pkg), pkg)
	}
}

func TestIsRuntime(t *testing.T) {
	for pkg, want := range map[string]bool{
		"": true, "runtime": true, "internal/runtime/maps": true, "runtime/debug": false, "net": false,
	} {
		require.Equal(t, want, IsRuntime(pkg), pkg)
	}
}
