package symbol

import (
	"runtime/debug"
	"slices"
	"testing"
)

func TestIsStandard(t *testing.T) {
	shop := ModulesOf(&debug.BuildInfo{
		Path: "shop/cart.test",
		Main: debug.Module{Path: "shop"},
		Deps: []*debug.Module{{Path: "example.com/log"}, {Path: "toolkit", Replace: &debug.Module{Path: "../kit"}}},
	})
	files := ModulesOf(&debug.BuildInfo{Path: "command-line-arguments.test"})
	for _, tt := range []struct {
		modules *Modules
		pkg     string
		want    bool
	}{
		{shop, "shop", false},
		{shop, "shop/cart", false},
		{shop, "shop_test", false},
		{shop, "shop/cart_test", false},
		{shop, "shopping", true},
		{shop, "toolkit/list", false},
		{shop, "example.com/log", false},
		{shop, "example.com/unknown", false}, // no path of the library has a dot there
		{shop, "net/http", true},
		{shop, "vendor/golang.org/x/net/http2/hpack", true},
		{shop, "main", false},
		{shop, "", true},
		{files, "command-line-arguments", false},
		{files, "net", true},
		{nil, "shop", true},
		{nil, "example.com/app", false},
		{nil, "main", false},
		{nil, "", true},
	} {
		if got := tt.modules.IsStandard(tt.pkg); got != tt.want {
			t.Errorf("%v.IsStandard(%q) = %v, want %v", tt.modules, tt.pkg, got, tt.want)
		}
	}
	defer dotted.Store(dotted.Swap(nil))
	// Ambiguous gives a program without build information what it needs for the same results.
	if got := shop.Ambiguous(); !slices.Equal(got, []string{"shop", "toolkit"}) {
		t.Error(got)
	}
	for _, pkg := range []string{"shop", "shop/cart_test", "shopping", "toolkit/list", "example.com/log", "net/http", "main", ""} {
		if named := NamedModules(shop.Ambiguous()); named.IsStandard(pkg) != shop.IsStandard(pkg) {
			t.Errorf("%s: %v", pkg, named.IsStandard(pkg))
		}
	}
	if got := (*Modules)(nil).Ambiguous(); got != nil {
		t.Error(got)
	}
	if ModulesOf(&debug.BuildInfo{}) != nil {
		t.Error("there are modules without build information")
	}
	own := OwnModules()
	if own == nil || own.IsStandard("github.com/leakgate/leakgate/leakcheck") || !own.IsStandard("encoding/json") {
		t.Errorf("this program is made of %v", own)
	}
}
