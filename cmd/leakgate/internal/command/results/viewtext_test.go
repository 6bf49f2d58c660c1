package results

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/page"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/refscan"
)

// TestTextComparesWithBefore shows the growth on each line, the largest first, and nodes that are
// gone.
func TestTextComparesWithBefore(t *testing.T) {
	root := func(name string, bytes int64, below ...*refscan.Node) *refscan.Node {
		return &refscan.Node{Name: name, Type: "[]*app.T", Figures: refscan.Figures{Objects: 1, Bytes: bytes}, Root: &refscan.RootInfo{Kind: refscan.RootGlobal}, Children: below}
	}
	all := func(objects, bytes int64) *refscan.Node {
		return &refscan.Node{Name: "[3]", Type: "*example.com/app/v2.T", Figures: refscan.Figures{Objects: objects, Bytes: bytes}}
	}
	before := &refscan.Report{Roots: []*refscan.Node{root("app.config", 4096), root("app.leak", 64, all(2, 128)), root("app.gone", 512)}}
	now := &refscan.Report{Roots: []*refscan.Node{root("app.config", 4096), root("app.leak", 128, all(12, 768))}}

	var b strings.Builder
	textFound(&b, &page.Found{Report: now, Before: before, Title: "base"}, nil, 12)
	require.Equal(t, `  compared with the base:
cum objects  cum bytes  +objects      +bytes
         13      896 B       +10      +704 B  app.leak  []*app.T
         12      768 B       +10      +640 B  └─ [*]  *app.T
          0        0 B        -1      -512 B  app.gone  []*app.T
          1    4.0 KiB                        and 1 more
`, b.String())

	b.Reset()
	textFound(&b, &page.Found{Report: now, Before: now, Title: "baseline"}, nil, 12)
	require.Contains(t, b.String(), "\n          1    4.0 KiB                        app.config  []*app.T\n", "nothing changed")
	require.NotContains(t, b.String(), "[*]")

	b.Reset()
	textFound(&b, &page.Found{Report: now}, nil, 12)
	require.Equal(t, `cum objects  cum bytes
          1    4.0 KiB  app.config  []*app.T
         13      896 B  app.leak  []*app.T
         12      768 B  └─ [*]  *app.T
`, b.String())

	b.Reset()
	textFound(&b, &page.Found{}, nil, 12)
	require.Contains(t, b.String(), "no tree was kept")
	b.Reset()
	textFound(&b, &page.Found{Problems: []string{"report.json: it is not there"}}, nil, 12)
	require.Equal(t, "  report.json: it is not there\n", b.String())
}

// TestTextLeavesOut says how much of a tree is not shown.
func TestTextLeavesOut(t *testing.T) {
	var roots []*refscan.Node
	for i := range 20 {
		roots = append(roots, &refscan.Node{Name: "app." + strings.Repeat("x", i+1), Figures: refscan.Figures{Objects: 1, Bytes: 16}, Root: &refscan.RootInfo{Kind: refscan.RootGlobal}})
	}
	var b strings.Builder
	textFound(&b, &page.Found{Report: &refscan.Report{Roots: roots}}, nil, 12)
	require.Contains(t, b.String(), "\n          8      128 B  and 8 more\n")
	for line := range strings.Lines(b.String()) {
		require.LessOrEqual(t, len([]rune(line)), textColumns+1)
	}
}

// TestTextFolds shows the roots of the standard library as one, unless there are no others or all
// are asked for.
func TestTextFolds(t *testing.T) {
	root := func(pkg, name string) *refscan.Node {
		return &refscan.Node{Name: pkg + "." + name, Figures: refscan.Figures{Objects: 2, Bytes: 32}, Root: &refscan.RootInfo{Kind: refscan.RootGlobal, Package: pkg}}
	}
	standard := []*refscan.Node{root("net/http", "x"), root("runtime", "y")}
	modules := symbol.NamedModules([]string{"example.com/app"})
	text := func(roots []*refscan.Node, most int) string {
		var b strings.Builder
		textFound(&b, &page.Found{Report: &refscan.Report{Roots: roots}}, modules, most)
		return b.String()
	}
	all := append([]*refscan.Node{root("example.com/app", "sessions")}, standard...)
	require.Equal(t, `cum objects  cum bytes
          4       64 B  runtime and standard library
          2       32 B  example.com/app.sessions
`, text(all, 12))
	require.Contains(t, text(all, math.MaxInt), "net/http.x")
	require.Contains(t, text(standard, 12), "net/http.x")
}

// A name that another machine has written stays on its line.
func TestTextKeepsNamesOnALine(t *testing.T) {
	p := &outcome.Package{ImportPath: "p\n::q", Assertions: []*outcome.Assertion{{Result: verdict.Result{Test: "T\r\n\x1bx", Seq: 1, Verdict: verdict.Pass}}}}
	var b strings.Builder
	v := &viewed{comparand: &comparand{Run: &outcome.Run{Packages: []*outcome.Package{p}}}}
	require.NoError(t, v.text(&b, new(ViewOptions)))
	require.Equal(t, `pass  p\x0a::q.T\x0d\x0a\x1bx #1`+"\n", b.String())
}
