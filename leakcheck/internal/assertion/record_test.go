package assertion

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/leakgate/leakgate/internal/envvar"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/refscan"
)

// records makes the world keep artifacts, and returns a function that reads the nth record of the
// assertions that w.assert runs.
func (w *world) records(t *testing.T) (nth func(n int) *verdict.Result) {
	t.Helper()
	t.Setenv(envvar.ArtifactsMax.Name(), "0") // records alone: profiles would be of this process
	w.env.Artifacts = t.TempDir()
	return func(n int) *verdict.Result {
		data, err := os.ReadFile(filepath.Join(w.env.Artifacts, "example.com", "app", "TestLogout", strconv.Itoa(n), verdict.FileName))
		require.NoError(t, err)
		r := &verdict.Result{}
		require.NoError(t, json.Unmarshal(data, r))
		return r
	}
}

// The record of an assertion has its verdict and its figures, those of each bound, and who holds
// what breaks one.
func TestRecordOfBounds(t *testing.T) {
	w := newWorld(t, sessions(100))
	record := w.records(t)
	ft, ok := w.assert(atMost(1, "app.sessions"), atMostOf(100, "app.Session"))
	assert.False(t, ok)
	r := record(1)
	assert.Equal(t, []any{verdict.Fail, "TestLogout", "example.com/app", 31, false}, []any{r.Verdict, r.Test, r.Package, r.Line, r.Misuse})
	assert.Equal(t, []int64{251, sessions(100).Totals.LiveBytes - 1<<20}, []int64{r.RetainedObjects, r.RetainedBytes})
	assert.Equal(t, int64(1e6), r.PauseNS)
	assert.Empty(t, r.Method)
	require.Len(t, r.Bounds, 2)
	b := r.Bounds[0]
	assert.Equal(t, []any{`Root("app.sessions")`, verdict.Fail, int64(1), int64(251), "registry.go", 12}, []any{b.Selector, b.Verdict, *b.MaxObjects, b.Objects, filepath.Base(b.File), b.Line})
	assert.Len(t, b.Chain, 3)
	assert.Contains(t, b.HeldBy[0], "held by the package variable example.com/app.sessions")
	b = r.Bounds[1]
	assert.Equal(t, []any{`TypeNamed("app.Session")`, verdict.Pass, int64(100), int64(100)}, []any{b.Selector, b.Verdict, *b.MaxObjects, b.Objects})
	assert.Empty(t, b.HeldBy)
	assert.Equal(t, r.Message, ft.errorText())

	w.assert(atMost(1000, "app.sessions"))
	r = record(2)
	assert.Equal(t, []any{verdict.Pass, verdict.InFull, verdict.Pass}, []any{r.Verdict, r.Method, r.Bounds[0].Verdict})

	w.assert(since(&request.Baseline{Forest: nil, Live: 77}), atMost(1000, "app.sessions"))
	assert.Equal(t, int64(77), record(3).LiveBefore)

	w.assert(atMost(-1, "app.sessions"))
	r = record(4)
	assert.True(t, r.Misuse)
	assert.Equal(t, verdict.Fail, r.Verdict)

	w.reports = []*refscan.Report{unsound()}
	w.assert(atMost(1, "app.sessions"))
	r = record(5)
	assert.Equal(t, verdict.Unknown, r.Verdict)
	assert.Contains(t, r.Cause, "the scan does not agree with the garbage collector")
	assert.Contains(t, r.Remedy, "report this")
	assert.Equal(t, verdict.Unknown, r.Bounds[0].Verdict)

	w.err = errors.New("no snapshot")
	w.assert(atMost(1, "app.sessions"))
	r = record(6)
	assert.Equal(t, []any{verdict.Unknown, "no snapshot", ""}, []any{r.Verdict, r.Cause, r.Remedy})
	assert.Empty(t, r.Bounds)
}

// The record of a comparison has the state of the golden file, and the lines that do not hold.
func TestRecordOfGolden(t *testing.T) {
	w := newWorld(t, sessions(101))
	record := w.records(t)
	w.writeGolden(t, "TestLogout.golden", goldens(100))
	_, ok := w.assert()
	assert.False(t, ok)
	r := record(1)
	require.NotNil(t, r.Golden)
	assert.Equal(t, []string{"testdata/leakcheck/TestLogout.golden", "mismatch"}, []string{r.Golden.File, r.Golden.Status})
	require.Len(t, r.Golden.Broken, 2)
	assert.Equal(t, []any{"golden example.com/app.sessions[*]", verdict.Fail, int64(100), int64(101)}, []any{r.Golden.Broken[0].Selector, r.Golden.Broken[0].Verdict, *r.Golden.Broken[0].MaxObjects, r.Golden.Broken[0].Objects})
	assert.Contains(t, r.Golden.Diff, "+")
	update, err := os.ReadFile(filepath.Join(w.env.Artifacts, "example.com", "app", "TestLogout", "1", "golden.txt"))
	require.NoError(t, err)
	assert.Contains(t, string(update), "101")

	w.reports = []*refscan.Report{sessions(100)}
	w.assert()
	r = record(2)
	assert.Equal(t, []any{verdict.Pass, "match", ""}, []any{r.Verdict, r.Golden.Status, r.Golden.Diff})
	w.reports = []*refscan.Report{sessions(90)}
	w.assert()
	assert.Contains(t, record(3).Golden.Tighter, "   90  ")
}

// Lines that may not hold for what benchmarks left are not broken ones.
func TestRecordAfterBenchmarks(t *testing.T) {
	w := newWorld(t, sessions(101))
	w.writeGolden(t, "TestMain.golden", goldens(100))
	w.env.Benchmarks = true
	a := w.begin(nil)
	a.file = "TestMain.golden"
	r := a.result(a.Judge())
	assert.Equal(t, verdict.Unknown, r.Verdict)
	assert.Empty(t, r.Bounds)
	assert.Empty(t, r.Golden.Broken)
}

// A record that cannot be written fails an assertion that passes: the command would not know of it.
func TestRecordThatCannotBeWritten(t *testing.T) {
	w := newWorld(t, sessions(1))
	w.env.Artifacts = filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(w.env.Artifacts, nil, 0o666))
	ft, ok := w.assert(atMost(100, "app.sessions"))
	assert.False(t, ok)
	assert.Contains(t, ft.errorText(), "leakcheck: cannot keep artifacts: ")
}

// Under -v the log says what proved a pass.
func TestMethodInLog(t *testing.T) {
	w := newWorld(t, sessions(1))
	w.env.Verbose = true
	ft, _ := w.assert(atMost(100, "app.sessions"))
	assert.Equal(t, []string{"leakcheck: passed in full"}, ft.logs)
	ft, _ = w.assert(atMost(0, "app.sessions"))
	assert.NotContains(t, ft.logText(), "passed")
	for want, o := range map[verdict.Method]*Outcome{
		verdict.InFull:  {Verdict: verdict.Pass, Eval: &check.Evaluation{}},
		verdict.ByReach: {Verdict: verdict.Pass, Eval: &check.Evaluation{}, Method: verdict.ByReach},
		"":              {Verdict: verdict.Pass},
	} {
		assert.Equal(t, want, o.method())
	}
}

// The command that updates a golden file runs the one test whose file it is.
func TestUpdateCommand(t *testing.T) {
	for _, c := range []struct{ pkg, test, want string }{
		{"example.com/app", "TestX", "go test example.com/app -run '^TestX$' -leakcheck.update"},
		{"example.com/app", "TestX/a.b", `go test example.com/app -run '^TestX$/^a\.b$' -leakcheck.update`},
		{"example.com/app", "BenchmarkX", "go test example.com/app -run '^$' -bench '^BenchmarkX$' -leakcheck.update"},
		{"", "TestX", "go test . -run '^TestX$' -leakcheck.update"},
		{"command-line-arguments", "TestX", "go test . -run '^TestX$' -leakcheck.update"},
		{"example.com/app", "", "go test example.com/app -leakcheck.update"},
	} {
		w := newWorld(t)
		w.env.PackagePath = c.pkg
		a := w.begin(&fakeT{name: c.test})
		if c.test == "" {
			a.T = nil
		}
		assert.Equal(t, c.want, a.UpdateCommand())
	}
}
