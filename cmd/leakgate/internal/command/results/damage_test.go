package results

import (
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/compare"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/page"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/present"
	slow "github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/refscan"
)

// filled sets each field that JSON has to something, with one element in each list, down to a
// depth: types refer to themselves.
func filled(v reflect.Value, depth int) {
	if depth == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem(), depth-1)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				filled(v.Field(i), depth-1)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		filled(v.Index(0), depth-1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		filled(key, depth-1)
		filled(value, depth-1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x.y/z:1")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(7)
	default:
		if v.CanInt() {
			v.SetInt(7)
		}
	}
}

// damages calls f with each value that results from v if one value in it is something else, or is
// not there.
func damages(v any, f func(any)) {
	for _, other := range []any{nil, "%s\x00\n\xff<b>&", -1, []any{nil}, map[string]any{"": nil}} {
		f(other)
	}
	switch v := v.(type) {
	case []any:
		for i, elem := range v {
			rest := slices.Clone(v)
			damages(elem, func(other any) { rest[i] = other; f(rest) })
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			rest := maps.Clone(v)
			delete(rest, key)
			f(rest)
			damages(v[key], func(other any) { rest[key] = other; f(rest) })
		}
	}
}

// use does with a report what the commands do, and presents it in each form.
func use(dir string) error {
	run, err := outcome.Read(dir)
	if err != nil {
		return err
	}
	base, err := outcome.Read(dir)
	if err != nil {
		return err
	}
	compare.Against(run, base)
	compare.AgainstRoots(run, base)
	compare.Runs(base, run)
	compare.Unmeasured(run, base)
	_, _ = outcome.Merge([]*outcome.Run{run, base})
	for _, p := range []present.Presenter{present.JSON{}, present.Markdown{}, present.Annotations{}, present.JUnit{}, present.SARIF{}, present.Summary{}} {
		if err := p.Present(io.Discard, run); err != nil {
			return err
		}
	}
	b := page.Builder{Run: run, Dir: artifacts.Folder(dir)}
	return b.Build().Write(io.Discard)
}

// A report may come from anywhere. Whatever is in it, or in the tree of an assertion beside it, the
// commands that read it tell a problem, or show it.
func TestDamagedReports(t *testing.T) {
	slow.Slow(t)
	var run outcome.Run
	filled(reflect.ValueOf(&run).Elem(), 10)
	run.Schema, run.Outcome = outcome.Schema, outcome.Pass
	const tree = "report.json"
	for _, p := range run.Packages {
		for _, a := range p.Assertions {
			a.Verdict, a.Artifacts = verdict.Fail, map[string]string{"report": tree}
		}
	}
	var scan refscan.Report
	filled(reflect.ValueOf(&scan).Elem(), 7)

	dir := t.TempDir()
	whole := map[string]any{}
	for name, v := range map[string]any{artifacts.ReportName: run, tree: scan} {
		text, err := json.Marshal(v)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
		var some any
		require.NoError(t, json.Unmarshal(text, &some))
		whole[name] = some
	}
	require.NoError(t, use(dir))
	for name, v := range whole {
		file := filepath.Join(dir, name)
		good, err := os.ReadFile(file)
		require.NoError(t, err)
		refused, shown := 0, 0
		damages(v, func(v any) {
			text, err := json.Marshal(v)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, text, 0o600))
			require.NotPanics(t, func() { err = use(dir) }, "%s", text)
			if err == nil {
				shown++
			} else {
				refused++
			}
		})
		require.NoError(t, os.WriteFile(file, good, 0o600))
		t.Logf("%s: %d damaged ones refused, %d shown", name, refused, shown)
		require.Greater(t, shown, 100)
	}
}
