package refscan_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/pproftest"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// pathReport makes a report with one path.
func pathReport(names ...string) *refscan.Report {
	var n *refscan.Node
	for i := len(names) - 1; i >= 0; i-- {
		above := &refscan.Node{Name: names[i], Type: "*app.T", Figures: refscan.Figures{Objects: 1, Bytes: 8}}
		if n != nil {
			above.Children = []*refscan.Node{n}
		}
		n = above
	}
	n.Root = &refscan.RootInfo{Kind: refscan.RootGlobal}
	return &refscan.Report{Roots: []*refscan.Node{n}}
}

// deepestFrame returns the name of the deepest frame in the profile of a report.
func deepestFrame(t *testing.T, r *refscan.Report) string {
	t.Helper()
	var buf bytes.Buffer
	require.NoError(t, r.WriteProfile(&buf))
	p, err := pproftest.Parse(&buf)
	require.NoError(t, err)
	deepest := p.Sample[0]
	for _, s := range p.Sample {
		require.Equal(t, []string{"*app.T"}, s.Label["type"])
		if len(s.Location) > len(deepest.Location) {
			deepest = s
		}
	}
	return deepest.Location[0].Line[0].Function.Name
}

func TestFrameNames(t *testing.T) {
	for _, c := range []struct {
		want  string
		names []string
	}{
		{"example.com/app.sessions", []string{"example.com/app.sessions"}},
		{"example.com/app.sessions[$key]", []string{"example.com/app.sessions", "$mapkey"}},
		{"example.com/app.sessions[*].Cart[*]", []string{"example.com/app.sessions", "$mapval", "Cart", "[10+]"}},
		{"example.com/app.sessions[*].state.buf", []string{"example.com/app.sessions", "$mapval.state.buf"}},
		{"example.com/app.(*Server).Serve.conns", []string{"example.com/app.(*Server).Serve.conns"}},
		{"timer(example·com/app·(*T)·expire).buf", []string{"timer(example.com/app.(*T).expire)", "buf"}},
		{"app.Cache[example·com/app·Key].items", []string{"app.Cache[example.com/app.Key].items"}},
	} {
		require.Equal(t, c.want, deepestFrame(t, pathReport(c.names...)))
	}
}

// TestFrameNameLong checks that the middle of long paths is left out: with thousands of levels,
// whole paths would take megabytes each.
func TestFrameNameLong(t *testing.T) {
	names := append([]string{"app.root"}, strings.Split(strings.Repeat("abcd ", require.Rounds(400, 4000))+"last", " ")...)
	require.Equal(t, "app.root…"+strings.Repeat(".abcd", 45)+".last", deepestFrame(t, pathReport(names...)))
	long := strings.Repeat("x", 1000)
	require.Equal(t, "app.root….last."+long, deepestFrame(t, pathReport("app.root", "first", "last."+long)), "the last one is whole")
}
