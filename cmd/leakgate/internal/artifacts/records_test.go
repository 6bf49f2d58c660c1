package artifacts

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/internal/verdict"
)

// leave writes a record as package verdict documents it.
func leave(t *testing.T, d *Dir, n string, r verdict.Result) {
	t.Helper()
	dir := filepath.Join(d.Records(), filepath.FromSlash(r.Package), filepath.FromSlash(r.Test), n)
	require.NoError(t, os.MkdirAll(dir, 0o777))
	data, err := json.Marshal(r)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, verdict.FileName), data, 0o666))
	for _, name := range r.Artifacts {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o666))
	}
}

func TestGatherReadsWhatLeakcheckWrites(t *testing.T) {
	d, err := Open(filepath.Join(t.TempDir(), "new", "artifacts"))
	require.NoError(t, err)
	limit := int64(7)
	want := verdict.Result{
		Schema: verdict.Schema, Package: "example.com/app", Test: "TestTable/sub", Seq: 10, Verdict: verdict.Unknown,
		Cause: "c", Remedy: "r", File: "app_test.go", Line: 3, Message: "m",
		Bounds: []verdict.Bound{{Selector: "s", MaxBytes: &limit, Bytes: 8, Verdict: verdict.Fail, Path: "p", File: "f", Line: 1}},
		Golden: &verdict.Golden{File: "g", Status: "mismatch", Diff: "d"},
		Totals: verdict.Totals{LiveObjects: 1, LiveBytes: 2, TypedBytes: 3}, RetainedObjects: 4, PauseNS: 5,
		Artifacts: map[string]string{"heap": "heap.pb.gz"},
	}
	leave(t, d, "10", want)
	for _, seq := range []int{2, 1} {
		leave(t, d, string(rune('0'+seq)), verdict.Result{Schema: verdict.Schema, Package: "example.com/app", Test: "TestTable/sub", Seq: seq, Verdict: verdict.Pass})
	}
	leave(t, d, "1", verdict.Result{Schema: verdict.Schema, Package: "example.com/app/inner", Test: "TestA", Seq: 1, Verdict: verdict.Fail})

	records, problems := d.Gather("shown", "v0.1.0")
	require.Empty(t, problems)
	require.Len(t, records, 4)
	require.Equal(t, []int{1, 2, 10, 1}, []int{records[0].Result.Seq, records[1].Result.Seq, records[2].Result.Seq, records[3].Result.Seq})
	want.Artifacts = map[string]string{"heap": "tests/example.com/app/TestTable/sub/10/heap.pb.gz"}
	require.Equal(t, Record{"tests/example.com/app/TestTable/sub/10", want}, records[2])
}

func TestWriteReportLeavesNothingHalf(t *testing.T) {
	d, err := Open(t.TempDir())
	require.NoError(t, err)
	require.ErrorIs(t, d.WriteReport(func(w io.Writer) error {
		_, err := io.WriteString(w, "half")
		require.NoError(t, err)
		return os.ErrInvalid
	}), os.ErrInvalid)
	entries, err := os.ReadDir(d.Path)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.Equal(t, []string{".gitignore", ".leakgate-artifacts", "tests"}, names)
}
