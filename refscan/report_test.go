package refscan_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/refscan"
)

func TestFoldName(t *testing.T) {
	for name, want := range map[string]string{
		"conns":            "conns",
		"[3]":              "[*]",
		"[10+].buf":        "[*].buf",
		"rows[2][10+].x":   "rows[*][*].x",
		"$mapval":          "[*]",
		"$mapval.last":     "[*].last",
		"$mapkey":          "[$key]",
		"state.$mapval[1]": "state[*][*]",
		"[*]":              "[*]",
		"T[int].x":         "T[int].x",
		"$recv":            "$recv",
	} {
		require.Equal(t, want, refscan.FoldName(name), name)
	}
}

func sample() *refscan.Report {
	leaf := func(name string, objects, bytes int64) *refscan.Node {
		return &refscan.Node{Name: name, Type: "*app.T", Objects: objects, Bytes: bytes}
	}
	return &refscan.Report{Roots: []*refscan.Node{{
		Name: "app.srv", Type: "*app.Server", Objects: 1, Bytes: 64,
		Root: &refscan.RootInfo{Kind: refscan.RootGlobal, Package: "app", File: "app/app.go", Line: 7},
		Children: []*refscan.Node{{
			Name: "conns", Type: "[]*app.T", Objects: 1, Bytes: 128,
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

func TestWriteProfile(t *testing.T) {
	var buf bytes.Buffer
	require.NoError(t, sample().WriteProfile(&buf))
	p, err := profile.Parse(&buf)
	require.NoError(t, err)
	require.Equal(t, "inuse_objects", p.SampleType[0].Type)
	require.Equal(t, "inuse_space", p.SampleType[1].Type)
	var objects, space int64
	for _, s := range p.Sample {
		objects += s.Value[0]
		space += s.Value[1]
		root := s.Location[len(s.Location)-1].Line[0]
		require.Equal(t, "app.srv. (*app.Server)", root.Function.Name)
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
