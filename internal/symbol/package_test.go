package symbol

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// paths are import paths, with the prefix that the linker writes for each.
var paths = map[string]string{
	"main":                          "main",
	"runtime":                       "runtime",
	"net/http":                      "net/http",
	"shop":                          "shop",
	"shop.go":                       "shop%2ego",
	"shop/v2":                       "shop/v2",
	"example.com/app":               "example.com/app",
	"example.com/app_test":          "example.com/app_test",
	"example.com/app/v2":            "example.com/app/v2",
	"example.com/app/v2_test":       "example.com/app/v2_test",
	"example.com/a+b":               "example.com/a+b",
	"example.com/a~b":               "example.com/a~b",
	"example.com/Upper.Case":        "example.com/Upper%2eCase",
	"example.com/a-b.c-d":           "example.com/a-b%2ec-d",
	"example.com/many.dots.in.it":   "example.com/many%2edots%2ein%2eit",
	"example.com/.hidden":           "example.com/%2ehidden",
	"example.com/end.":              "example.com/end%2e",
	"example.com/two..dots":         "example.com/two%2e%2edots",
	"example.com/100%":              "example.com/100%25",
	"example.com/\u00fc.x/\u00fc":   "example.com/%c3%bc.x/%c3%bc",
	"example.com/\u00fc.x":          "example.com/%c3%bc%2ex",
	"github.com/acme/shop":          "github.com/acme/shop",
	"github.com/acme/shop.go":       "github.com/acme/shop%2ego",
	"github.com/acme/shop.go_test":  "github.com/acme/shop%2ego_test",
	"github.com/acme/shop.go/cart":  "github.com/acme/shop.go/cart",
	"github.com/acme/shop.go/v2":    "github.com/acme/shop.go/v2",
	"github.com/acme/shop.go/v2.io": "github.com/acme/shop.go/v2%2eio",
	"github.com/nats-io/nats.go":    "github.com/nats-io/nats%2ego",
	"gopkg.in/yaml.v3":              "gopkg.in/yaml%2ev3",
	"vendor/golang.org/x/net/idna":  "vendor/golang.org/x/net/idna",
	"app/vendor/gopkg.in/yaml.v2":   "app/vendor/gopkg.in/yaml%2ev2",
}

// members are what names have behind the import path.
var members = []string{
	"x", "T", "(*T).M", "T.M", "(*T).M-fm", "New.func1", "New.gowrap1", "glob..func1", "init.0", "v3", "T[int]", "(*T[...]).M.func1",
	"(*T[go.shape.struct { gopkg.in/yaml%2ev3.Kind }]).M", "T[gopkg.in/yaml%2ev3.Node,map[string]*github.com/acme/shop%2ego.Cart]",
	"x.field", "x[*].field", "$temporary", "x.$mapval",
}

func TestPackage(t *testing.T) {
	defer dotted.Store(dotted.Swap(nil))
	for _, clean := range []bool{false, true} {
		for path, prefix := range paths {
			for _, member := range members {
				name := prefix + "." + member
				if clean {
					name = Unescape(name)
				}
				require.Equal(t, path, Package(name), name)
				require.Equal(t, path, Package("**"+name), name)
				pkg, rest := Split("*" + name)
				require.Equal(t, path, pkg, name)
				require.Equal(t, Unescape(member), rest, name)
			}
		}
	}
	for _, name := range []string{
		"int", "type:.eq.app.T", "type:.eq.gopkg.in/yaml.v3.T", "go:itab.app.T", "struct { example.com/app.T }", "map[string]example.com/app.T",
		"map[string]gopkg.in/yaml.v3.T", "func(gopkg.in/yaml.v3.T)", "",
	} {
		require.Equal(t, "", Package(name), name)
	}
}

// TestLearn checks that names that another process has unescaped have the same packages, once this
// process has learned of its packages.
func TestLearn(t *testing.T) {
	defer dotted.Store(dotted.Swap(nil))
	require.Equal(t, "gopkg.in/yaml", Package("gopkg.in/yaml.v3.Node"))
	Learn("gopkg.in/yaml.v3", "example.com/app", "shop", "")
	require.Equal(t, "gopkg.in/yaml.v3", Package("gopkg.in/yaml.v3.Node"))
	require.Equal(t, "gopkg.in/yaml", Package("gopkg.in/yaml.Node"))
	require.Equal(t, "gopkg.in/yaml.v3/sub", Package("gopkg.in/yaml.v3/sub.Node"))
	require.Equal(t, "gopkg.in/yaml", Package("gopkg.in/yaml.v31.Node"))
	require.True(t, slices.Equal(Dotted(), []string{"gopkg.in/yaml.v3"}))

	Learn(slices.Collect(maps.Keys(paths))...)
	for _, path := range Dotted() {
		require.True(t, strings.Contains(path[strings.LastIndexByte(path, '/')+1:], "."), path)
	}
	for path, prefix := range paths {
		require.Equal(t, path, Package(path+".(*T).M"), prefix)
	}
}

func TestUnescape(t *testing.T) {
	defer dotted.Store(dotted.Swap(nil))
	for name, want := range map[string]string{
		"gopkg.in/yaml%2ev3.Node":                 "gopkg.in/yaml.v3.Node",
		"gopkg.in/yaml%2ev3":                      "gopkg.in/yaml.v3",
		"timer(gopkg.in/yaml%2ev3.f)":             "timer(gopkg.in/yaml.v3.f)",
		"map[a/b%2ec.K][]*d/e%2ef.V":              "map[a/b.c.K][]*d/e.f.V",
		"type:.eq.gopkg.in/yaml%2ev3.T":           "type:.eq.gopkg.in/yaml.v3.T",
		"example.com/%c3%bc.T":                    "example.com/\u00fc.T",
		"example.com/100%25.T":                    "example.com/100%.T",
		`struct { A int "100%25 a/b%2ec.d" }`:     `struct { A int "100%25 a/b%2ec.d" }`,
		`struct { A gopkg.in/yaml%2ev3.T "%2e" }`: `struct { A gopkg.in/yaml.v3.T "%2e" }`,
		"half%2": "half%2",
		"%zz.T":  "%zz.T",
		"%41.T":  "%41.T", // the linker does not escape letters
	} {
		require.Equal(t, want, Unescape(name))
		require.Equal(t, want, Unescape(Unescape(name)))
	}
	require.True(t, slices.Equal(Dotted(), []string{"a/b.c", "d/e.f", "gopkg.in/yaml.v3"}), Dotted())
}
