package artifact

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/refscan"
)

// judged compares the output with that of encoding/json, byte for byte.
func judged(t *testing.T, v any) {
	t.Helper()
	var got, want bytes.Buffer
	require.NoError(t, encodeJSON(&got, v))
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(v))
	require.Equal(t, want.String(), got.String())
}

func TestEncode(t *testing.T) {
	limit := int64(3)
	judged(t, &verdict.Result{
		Schema: verdict.Schema, Package: "example.com/app", Test: "TestX/sub \"q\"", Verdict: verdict.Fail, Message: "a\tb\nc\x01 <é> \u2028",
		Bounds:    []verdict.Bound{{Selector: `Root("x")`, MaxObjects: &limit, Objects: 5, Verdict: verdict.Fail}, {}},
		Golden:    &verdict.Golden{File: "f", Status: "match"},
		Artifacts: map[string]string{"b": "2", "a": "1"},
	})
	judged(t, &verdict.Result{})
	judged(t, &refscan.Report{
		GoVersion: "go1.26.8", Pause: 3 * time.Millisecond, Warnings: []string{"w"},
		Roots: []*refscan.Node{{
			Name: "app.x", Type: "map[string]*app.T", Objects: 1, Bytes: -5, Elems: 2,
			Root:     &refscan.RootInfo{Kind: refscan.RootGlobal, Test: true, Line: 4},
			Children: []*refscan.Node{{Name: "[0]"}, nil},
		}},
	})
	judged(t, &refscan.Report{})
}

func TestEncodeRefuses(t *testing.T) {
	require.ErrorContains(t, encodeJSON(&bytes.Buffer{}, struct{ F func() }{}), "cannot write a func")
}

func FuzzText(f *testing.F) {
	f.Add("plain")
	f.Add("\"\\\b\f\x7f\u2029\xed\xa0\x80")
	f.Fuzz(func(t *testing.T, s string) {
		var got bytes.Buffer
		require.NoError(t, encodeJSON(&got, s))
		var back, want string
		require.NoError(t, json.Unmarshal(got.Bytes(), &back))
		text, err := json.Marshal(s)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &want))
		require.Equal(t, want, back)
	})
}
