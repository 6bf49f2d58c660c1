package page

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/refscan"
)

// A module may be called "shop", without a dot. The record names such modules, so that the page
// does not count their roots as those of the standard library.
func TestStandardByTheRecord(t *testing.T) {
	root := func(pkg string) *refscan.Node {
		return &refscan.Node{Name: pkg + ".x", Figures: refscan.Figures{Objects: 1}, Root: &refscan.RootInfo{Kind: refscan.RootGlobal, Package: pkg}}
	}
	r := &refscan.Report{Roots: []*refscan.Node{root("shop/cart"), root("toolkit"), root("net/http"), root("example.com/app"), root("")}}
	a := &outcome.Assertion{Result: verdict.Result{Package: "example.com/app", Modules: []string{"shop", "toolkit"}}}
	var standard []bool
	for _, c := range ofReport(r, modulesOf(a)).children {
		standard = append(standard, c.root.Standard)
	}
	require.Equal(t, []bool{false, false, true, false, true}, standard)
}
