package refscan_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/testkit/pproftest"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

func TestFoldName(t *testing.T) {
	for name, want := range map[string]string{
		"conns":                      "conns",
		"[3]":                        "[*]",
		"[10+].buf":                  "[*].buf",
		"rows[2][10+].x":             "rows[*][*].x",
		"$mapval":                    "[*]",
		"$mapval.last":               "[*].last",
		"$mapkey":                    "[$key]",
		"state.$mapval[1]":           "state[*][*]",
		"[*]":                        "[*]",
		"T[int].x":                   "T[int].x",
		"$recv":                      "$recv",
		"timer(app.Tick[[4]string])": "timer(app.Tick[[4]string])",
		"timer(app.Tick[struct { Name [4]string }]).c[1].x": "timer(app.Tick[struct { Name [4]string }]).c[*].x",
		"finalizer(*[4]int)[2]":                             "finalizer(*[4]int)[*]",
		"T[[2]int][3]":                                      "T[[2]int][*]",
	} {
		require.Equal(t, want, symbol.FoldPath(name), name)
	}
}

func sample() *refscan.Report {
	leaf := func(name string, objects, bytes int64) *refscan.Node {
		return &refscan.Node{Name: name, Type: "*app.T", Figures: refscan.Figures{Objects: objects, Bytes: bytes}}
	}
	return &refscan.Report{Roots: []*refscan.Node{{
		Name: "app.srv", Type: "*app.Server", Figures: refscan.Figures{Objects: 1, Bytes: 64},
		Root: &refscan.RootInfo{Kind: refscan.RootGlobal, Package: "app", File: "app/app.go", Line: 7},
		Children: []*refscan.Node{{
			Name: "conns", Type: "[]*app.T", Figures: refscan.Figures{Objects: 1, Bytes: 128},
			Children: []*refscan.Node{leaf("[0]", 1, 10), leaf("[1]", 1, 10), leaf("[10+]", 5, 50)},
		}},
	}}}
}

func TestFoldMergesElements(t *testing.T) {
	r := sample()
	f := r.Fold()
	require.Len(t, f.Roots[0].Children[0].Children, 1)
	all := f.Roots[0].Children[0].Children[0]
	require.Equal(t, "[*]", all.Name)
	require.EqualValues(t, 7, all.Objects)
	require.EqualValues(t, 70, all.Bytes)
	o, b := r.Roots[0].Total()
	fo, fb := f.Roots[0].Total()
	require.Equal(t, []int64{o, b}, []int64{fo, fb}, "folding keeps the sums")
	require.Len(t, r.Roots[0].Children[0].Children, 3, "the report itself is not changed")
}

// An element of a small array that has by far the most objects is told, and so is the only one; one
// of a slice, of an array with more elements, or of a root's name is not.
func TestFoldTellsElements(t *testing.T) {
	queue := func(name string, objects int64) *refscan.Node {
		return &refscan.Node{Name: name, Type: "[]*app.T", Figures: refscan.Figures{Objects: 1}, Children: []*refscan.Node{{Name: "[10+]", Type: "*app.T", Figures: refscan.Figures{Objects: objects - 1}}}}
	}
	for _, tt := range []struct {
		typ     string
		nodes   []*refscan.Node
		element int
		objects int64
	}{
		{"[4][]*app.T", []*refscan.Node{queue("[0]", 3), queue("[2]", 300), queue("[3]", 3)}, 2, 300},
		{"*[4][]*app.T", []*refscan.Node{queue("[1]", 300)}, 1, 300},
		{"app.Server", []*refscan.Node{queue("queues[1].all", 3), queue("queues[0].all", 300)}, 0, 300},
		{"[2][2][]*app.T", []*refscan.Node{queue("[0][1]", 20), queue("[1][0]", 100), queue("[1][1]", 100)}, 1, 200},
		{"[4][]*app.T", []*refscan.Node{queue("[0]", 30), queue("[2]", 299)}, 0, 0},
		{"[4][]*app.T", []*refscan.Node{queue("[0]", 9)}, 0, 0},
		{"[20][]*app.T", []*refscan.Node{queue("[0]", 3), queue("[1]", 300), queue("[10+]", 300)}, 0, 0},
		{"[][]*app.T", []*refscan.Node{queue("[0]", 300), queue("[1]", 3)}, 0, 0},
	} {
		r := &refscan.Report{Roots: []*refscan.Node{{Name: "finalizer(*[4]int)", Type: tt.typ, Figures: refscan.Figures{Objects: 1}, Root: &refscan.RootInfo{}, Children: tt.nodes}}}
		for range 2 { // the second folds what is folded
			r = r.Fold()
			require.Len(t, r.Roots[0].Children, 1)
			n := r.Roots[0].Children[0]
			require.Equal(t, []int64{int64(tt.element), tt.objects}, []int64{int64(n.Element), n.ElementObjects}, tt.typ)
			require.Zero(t, r.Roots[0].ElementObjects)
		}
	}
}

// TestFoldKeepsTimers merges roots that differ only in the figures of their timers.
func TestFoldKeepsTimers(t *testing.T) {
	timers := func(n int64, first, last, period time.Duration) *refscan.Node {
		return &refscan.Node{Name: "timer(app.tick)", Figures: refscan.Figures{Objects: n}, Root: &refscan.RootInfo{
			Kind: refscan.RootTimer, Package: "app", Timers: n, DueFirst: first, DueLast: last, Period: period,
		}}
	}
	for _, c := range []struct {
		name  string
		roots []*refscan.Node
		want  refscan.RootInfo
	}{
		{"one", []*refscan.Node{timers(1, -5, 7, 0)}, refscan.RootInfo{Timers: 1, DueFirst: -5, DueLast: 7}},
		{"two", []*refscan.Node{timers(1, 3, 7, 20), timers(2, -1, 5, 10)}, refscan.RootInfo{Timers: 3, DueFirst: -1, DueLast: 7, Period: 10}},
		{"one is not known", []*refscan.Node{timers(1, 0, 0, 0), timers(1, 3, 5, 10)}, refscan.RootInfo{Timers: 2, DueFirst: 3, DueLast: 5, Period: 10}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.want.Kind, c.want.Package = refscan.RootTimer, "app"
			folded := (&refscan.Report{Roots: c.roots}).Fold()
			require.Len(t, folded.Roots, 1)
			require.Equal(t, &c.want, folded.Roots[0].Root)
		})
	}
}

func TestWriteProfile(t *testing.T) {
	var buf bytes.Buffer
	require.NoError(t, sample().WriteProfile(&buf))
	p, err := pproftest.Parse(&buf)
	require.NoError(t, err)
	require.Equal(t, "inuse_objects", p.SampleType[0].Type)
	require.Equal(t, "inuse_space", p.SampleType[1].Type)
	var objects, space int64
	for _, s := range p.Sample {
		objects += s.Value[0]
		space += s.Value[1]
		root := s.Location[len(s.Location)-1].Line[0]
		require.Equal(t, "app.srv", root.Function.Name)
		require.Equal(t, "app/app.go", root.Function.Filename)
		require.EqualValues(t, 7, root.Line)
	}
	o, b := sample().Roots[0].Total()
	require.Equal(t, []int64{o, b}, []int64{objects, space})
}

func TestReportAsJSON(t *testing.T) {
	data, err := json.Marshal(sample())
	require.NoError(t, err)
	var back refscan.Report
	require.NoError(t, json.Unmarshal(data, &back))
	again, err := json.Marshal(&back)
	require.NoError(t, err)
	require.JSONEq(t, string(data), string(again))
}
