package page

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/refscan"
)

// TestNativeBesideBaseline expects a view of native blocks alone if the baseline has none. They are
// in the other views if there is no baseline, or the baseline has them too.
func TestNativeBesideBaseline(t *testing.T) {
	plain := &refscan.Report{Roots: []*refscan.Node{{
		Name: "app.x", Figures: refscan.Figures{Objects: 1, Bytes: 10}, Root: &refscan.RootInfo{Kind: refscan.RootGlobal, Package: "app"},
		Children: []*refscan.Node{{Name: "y", Figures: refscan.Figures{Objects: 2, Bytes: 20}}},
	}}}
	native := &refscan.Report{Roots: []*refscan.Node{
		{
			Name: "app.x", Figures: refscan.Figures{Objects: 1, Bytes: 10}, Root: &refscan.RootInfo{Kind: refscan.RootGlobal, Package: "app"},
			Children: []*refscan.Node{{Name: "y", Figures: refscan.Figures{Objects: 2, Bytes: 20}}, {Name: "c", Type: "native block", Figures: refscan.Figures{Objects: 3, Bytes: 3000}}},
		},
		{Name: "lost", Type: "native block", Figures: refscan.Figures{Objects: 4, Bytes: 4000}, Root: &refscan.RootInfo{Kind: refscan.RootNative, Package: "C"}},
	}}
	views := func(before *refscan.Report) (kinds []string, sums []int64) {
		dir := t.TempDir()
		files := map[string]string{}
		for kind, r := range map[string]*refscan.Report{"report": native, "report.base": before} {
			if r != nil {
				text, err := json.Marshal(r)
				require.NoError(t, err)
				files[kind] = kind + ".json"
				require.NoError(t, os.WriteFile(filepath.Join(dir, kind+".json"), text, 0o600))
			}
		}
		a := &outcome.Assertion{Result: verdict.Result{Test: "TestX", Verdict: verdict.Fail, Artifacts: files}}
		b := &Builder{Run: &outcome.Run{Packages: []*outcome.Package{{ImportPath: "app", Assertions: []*outcome.Assertion{a}}}}, Dir: artifacts.Folder(dir)}
		data := b.Build()
		require.Empty(t, data.Assertions[0].Missing)
		for _, v := range data.Assertions[0].Views {
			var sum int64
			for _, n := range data.Trees[v.Tree].Bytes {
				sum += n
			}
			kinds, sums = append(kinds, v.Kind), append(sums, sum)
		}
		return kinds, sums
	}
	kinds, sums := views(nil)
	require.Equal(t, []string{"retained", "types"}, kinds)
	require.Equal(t, []int64{7030, 7030}, sums)
	kinds, sums = views(native)
	require.Equal(t, []string{"retained", "types"}, kinds)
	require.Equal(t, []int64{7030, 7030}, sums)
	kinds, sums = views(plain)
	require.Equal(t, []string{"retained", "types", "native"}, kinds)
	require.Equal(t, []int64{30, 30, 7000}, sums)
}
