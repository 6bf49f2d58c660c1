package leakcheck

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/envvar"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/refscan"
)

func readResult(t *testing.T, dir string) *verdict.Result {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, verdict.FileName))
	if err != nil {
		t.Fatal(err)
	}
	r := &verdict.Result{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		t.Fatal(err)
	}
	return r
}

// A pass has its method in the record and, under -v, in the log; no other outcome has.
func TestMethodOfAPass(t *testing.T) {
	w := newWorld(t, report(sessions(100)))
	w.env.Artifacts, w.env.Verbose = t.TempDir(), true
	base := filepath.Join(w.env.Artifacts, "example.com", "app", "TestLogout")
	for i, tt := range []struct {
		bound  Option
		seen   bool
		method verdict.Method
	}{
		{Root("app.sessions").MaxObjects(1000), true, verdict.InFull},
		{Root("app.sessions").MaxObjects(1000), false, ""},
		{Root("app.sessions").None(), true, ""},
	} {
		w.err = nil
		if !tt.seen {
			w.err = errors.New("no snapshot")
		}
		ft, _ := w.assert(tt.bound, Full())
		if r := readResult(t, filepath.Join(base, strconv.Itoa(i+1))); r.Method != tt.method {
			t.Errorf("%s in the record of %v", r.Method, r.Verdict)
		}
		if ft.logged("passed") != (tt.method != "") || tt.method != "" && !ft.logged("passed "+string(tt.method)) {
			t.Errorf("%s: %q", tt.method, ft.logs)
		}
	}
}

func TestArtifactsForTheCommand(t *testing.T) {
	w := newWorld(t, report(sessions(100)))
	w.env.Artifacts = t.TempDir()
	w.assert(Root("app.sessions").MaxObjects(1), TypeNamed("app.Session").MaxBytes(1<<20))
	w.assert(Golden("x"))
	base := filepath.Join(w.env.Artifacts, "example.com", "app", "TestLogout")

	r := readResult(t, filepath.Join(base, "1"))
	if r.Schema != verdict.Schema || r.Package != "example.com/app" || r.Test != "TestLogout" || r.Seq != 1 ||
		r.Verdict != verdict.Fail || r.Line != 31 || r.RetainedObjects != 251 || r.SettleNS != 3e6 || r.PauseNS != 1e6 || r.ScanNS != 2e6 {
		t.Errorf("%+v", r)
	}
	if len(r.Bounds) != 2 || r.Bounds[0].Verdict != verdict.Fail || r.Bounds[1].Verdict != verdict.Pass ||
		r.Bounds[0].Selector != `Root("app.sessions")` || *r.Bounds[0].MaxObjects != 1 || r.Bounds[0].MaxBytes != nil ||
		r.Bounds[0].Objects != 251 || r.Bounds[0].Path != "example.com/app.sessions[*].buf" || r.Bounds[0].Line != 12 {
		t.Errorf("%+v", r.Bounds)
	}
	if b := r.Bounds[0]; len(b.HeldBy) != 1 || !strings.HasPrefix(b.HeldBy[0], "held by the package variable example.com/app.sessions (") || b.AlsoHeldBy != nil ||
		len(b.Chain) != 3 || b.Chain[0].Line() != "example.com/app.sessions  map[string]*app.Session, 100 entries" || b.Chain[2].Line() != "buf  []uint8" ||
		b.Chain[1] != (verdict.Link{Name: "[*]", About: "*app.Session", Objects: 100, Bytes: 9600}) || r.Bounds[1].Chain != nil {
		t.Errorf("%q %#v", b.HeldBy, b.Chain)
	}
	if !strings.Contains(r.Message, "profile: go tool pprof -http=: "+filepath.Join(base, "1", "retained.pb.gz")) {
		t.Error(r.Message)
	}
	for kind, name := range r.Artifacts {
		if info, err := os.Stat(filepath.Join(base, "1", name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if want := map[string]string{
		"report": "report.json", "retained": "retained.pb.gz", "heap": "heap.pb.gz", "goroutine": "goroutine.pb.gz", "trace": "trace.txt",
		"stack": "stack.pb.gz",
	}; !maps.Equal(r.Artifacts, want) {
		t.Errorf("%v", r.Artifacts)
	}
	if b := r.Bounds[0]; b.Type != "[]uint8" || r.Misuse {
		t.Errorf("%+v", r)
	}
	if trace, err := os.ReadFile(filepath.Join(base, "1", "trace.txt")); err != nil || string(trace) != r.Message+"\n" {
		t.Errorf("trace.txt: %v\n%s", err, trace)
	}
	var rep refscan.Report
	if data, err := os.ReadFile(filepath.Join(base, "1", "report.json")); err != nil || json.Unmarshal(data, &rep) != nil || rep.Totals != w.reports[0].Totals {
		t.Errorf("report.json: %v", err)
	}

	r = readResult(t, filepath.Join(base, "2"))
	if r.Verdict != verdict.Pass || r.Golden == nil || r.Golden.Status != "created" || r.Golden.File != "testdata/leakcheck/x.golden" || r.Seq != 2 {
		t.Errorf("%+v %+v", r, r.Golden)
	}
	if len(r.Artifacts) != 0 {
		t.Errorf("artifacts of an assertion that passed: %v", r.Artifacts)
	}

	w.err = &refscan.UnavailableError{Cause: "no memory for a fork", Remedy: "raise the limit", Err: errors.New("cannot allocate memory")}
	w.assert(Golden("x"))
	r = readResult(t, filepath.Join(base, "3"))
	if r.Verdict != verdict.Unknown || r.Cause != "no memory for a fork: cannot allocate memory" || r.Remedy != "raise the limit" {
		t.Errorf("%+v", r)
	}

	if left, _ := filepath.Glob(filepath.Join(base, "*", "*.tmp")); len(left) > 0 {
		t.Errorf("temporary files: %v", left)
	}
}

// The heap profiles bracket the assertion: they begin at its baseline, or, for AssertNoGrowth, at
// the first snapshot.
func TestHeapProfilesBracket(t *testing.T) {
	w := newWorld(t, report(sessions(1)), report(sessions(9)))
	w.env.Artifacts = t.TempDir()
	base := &Baseline{*w.TakeBaseline(&fakeT{name: "TestLogout"}, nil)}
	w.assert(Root("app.sessions").MaxObjects(1), Since(base))
	folder := filepath.Join(w.env.Artifacts, "example.com", "app", "TestLogout")
	read := func(n, name string) string {
		data, err := os.ReadFile(filepath.Join(folder, n, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if before, after := read("1", "heap.base.pb.gz"), read("1", "heap.pb.gz"); before != "heap profile 1" || after != "heap profile 4" {
		t.Errorf("baseline: %q, %q", before, after)
	}
	objects := func(n, name string) (sum int64) {
		r := new(refscan.Report)
		if err := json.Unmarshal([]byte(read(n, name)), r); err != nil {
			t.Fatal(err)
		}
		for _, root := range r.Roots {
			total, _ := root.Total()
			sum += total
		}
		return sum
	}
	if before, after := objects("1", "report.base.json"), objects("1", "report.json"); before == 0 || after <= before {
		t.Errorf("baseline: %d, %d objects", before, after)
	}
	w.reports, w.snapshots = growing(sessions, 10, 20, 40, 80, 160), 0
	w.growth(nil, tenAndTen...)
	if before, after := read("2", "heap.base.pb.gz"), read("2", "heap.pb.gz"); before != "heap profile 1" || after != "heap profile 4" { // of before the batch whose allocations are all recorded
		t.Errorf("growth: %q, %q", before, after)
	}
	if before, after := objects("2", "report.base.json"), objects("2", "report.json"); before == 0 || after <= before {
		t.Errorf("growth: %d, %d objects", before, after)
	}
}

func TestWhichAssertionsHaveArtifacts(t *testing.T) {
	w := newWorld(t, report(sessions(9)))
	w.env.Artifacts = t.TempDir()
	folder := filepath.Join(w.env.Artifacts, "example.com", "app", "TestLogout")
	w.env.Every = true
	w.assert(Root("app.sessions").MaxObjects(900))
	if r := readResult(t, filepath.Join(folder, "1")); len(r.Artifacts) != 5 || r.Artifacts["heap"] == "" {
		t.Errorf("all were asked for: %v", r.Artifacts)
	}
	w.env.Every = false
	t.Setenv(envvar.ArtifactsMax.Name(), "0")
	ft, _ := w.assert(Root("app.sessions").None())
	if r := readResult(t, filepath.Join(folder, "2")); len(r.Artifacts) != 0 || strings.Contains(ft.errorText(), "profile") {
		t.Errorf("none were allowed: %v\n%s", r.Artifacts, ft.errorText())
	}

	// Without the command, Bazel's folder gets those of failures.
	t.Setenv(envvar.ArtifactsMax.Name(), "1000")
	w.env.Artifacts, w.env.Undeclared = "", t.TempDir()
	w.assert(Root("app.sessions").MaxObjects(900))
	w.assert(Root("app.sessions").None())
	folder = filepath.Join(w.env.Undeclared, "leakcheck", "example.com", "app", "TestLogout")
	if r := readResult(t, filepath.Join(folder, "1")); r.Verdict != verdict.Fail || r.Artifacts["retained"] == "" {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(folder, "2")); err == nil {
		t.Error("an assertion that passed left files")
	}
}

func TestRecordOfAGoldenFileThatDiffers(t *testing.T) {
	w := newWorld(t, report(sessions(1)))
	w.env.Artifacts = t.TempDir()
	w.env.Dir = t.TempDir()
	w.assert()
	w.reports = []*refscan.Report{report(sessions(9))}
	w.assert()
	folder := filepath.Join(w.env.Artifacts, "example.com", "app", "TestLogout")
	r := readResult(t, filepath.Join(folder, "2"))
	if r.Verdict != verdict.Fail || r.Golden.Status != "mismatch" || len(r.Golden.Broken) != 3 {
		t.Fatalf("%+v", r.Golden)
	}
	if b := r.Golden.Broken[0]; b.Path != "example.com/app.sessions[*]" || b.Type != "*example.com/app.Session" || b.Objects != 9 || *b.MaxObjects != 1 || b.Line != 12 {
		t.Errorf("%+v", b)
	}
	if b := r.Golden.Broken[2]; b.MaxObjects == nil || *b.MaxObjects != 0 {
		t.Errorf("a path without a line allows nothing: %+v", b)
	}

	// Measuring takes any heap, and writes nothing.
	before := w.goldenText(t, "TestLogout.golden")
	w.env.Measure, w.env.Update, w.env.Ci = true, true, true
	if ft, ok := w.assert(); !ok {
		t.Error(ft.errorText())
	}
	if w.goldenText(t, "TestLogout.golden") != before {
		t.Error("the golden file was written")
	}
	r = readResult(t, filepath.Join(folder, "3"))
	text, err := os.ReadFile(filepath.Join(folder, "3", r.Artifacts["golden"]))
	if r.Golden.Status != "measured" || err != nil || !strings.Contains(string(text), "        9  ") {
		t.Errorf("%+v %v\n%s", r.Golden, err, text)
	}
	if ft, ok := w.assert(Golden("none/yet")); !ok || w.goldenText(t, "none/yet.golden") != "" {
		t.Errorf("%v %s", ok, ft.errorText())
	}
}

func TestMisuseIsRecorded(t *testing.T) {
	w := newWorld(t, report(sessions(1)))
	w.env.Artifacts, w.env.Ci = t.TempDir(), true
	w.assert(Root("app.sesions").None())
	w.assert(Scope())
	w.growth(nil, Iterations(0))
	w.assert(Golden("missing"))
	for n, misuse := range map[string]bool{"1": true, "2": true, "3": true, "4": false} {
		r := readResult(t, filepath.Join(w.env.Artifacts, "example.com", "app", "TestLogout", n))
		if r.Verdict != verdict.Fail || r.Misuse != misuse {
			t.Errorf("%s: %+v", n, r)
		}
	}
}

func TestArtifactsCannotBeKept(t *testing.T) {
	w := newWorld(t, report(sessions(1)))
	w.env.Artifacts = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(w.env.Artifacts, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if ft, ok := w.assert(Root("app.sessions").MaxObjects(9)); ok || !strings.Contains(ft.errorText(), "cannot keep artifacts") {
		t.Errorf("%v %s", ok, ft.errorText())
	}
}

// A fakeM is a test run with a known end.
type fakeM int

func (m fakeM) Run() int { return int(m) }

func TestVerifyTestMain(t *testing.T) {
	run := func(w *world, code int, opts ...Option) (int, string) {
		w.stderrBuf.Reset()
		w.VerifyTestMain(fakeM(code), environ.Site{}, newRequest(opts))
		return w.exitCode, w.stderrBuf.String()
	}
	w := newWorld(t, report(sessions(3)))
	if code, out := run(w, 2); code != 2 || out != "" || w.snapshots > 0 {
		t.Errorf("tests that failed: %d %q", code, out)
	}
	if code, out := run(w, 0); code != 0 || !strings.Contains(out, "created testdata/leakcheck/TestMain.golden") {
		t.Errorf("%d %q", code, out)
	}
	w.reports = []*refscan.Report{report(sessions(4))}
	code, out := run(w, 0)
	if code != 1 || !strings.HasPrefix(out, "--- FAIL: TestMain\n    leakcheck: more is retained than the golden file allows") ||
		!strings.HasSuffix(out, "\nFAIL\n") || !strings.Contains(out, "go test example.com/app -leakcheck.update") {
		t.Errorf("%d %s", code, out)
	}
	if code, out := run(w, 0, Root("app.sessions").None()); code != 1 || !strings.Contains(out, `Root("app.sessions").None()`) {
		t.Errorf("%d %s", code, out)
	}
	if code, out := run(w, 0, Root("app.sessions").MaxObjects(100), Scope()); code != 1 || !strings.Contains(out, "names no package") {
		t.Errorf("%d %s", code, out)
	}

	// With -run, a package-wide file is not to be made or tightened.
	w.env.Partial, w.env.Update = true, true
	w.reports = []*refscan.Report{report(sessions(1))}
	before := w.goldenText(t, "TestMain.golden")
	if code, out := run(w, 0); code != 0 || w.goldenText(t, "TestMain.golden") != before {
		t.Errorf("%d %s", code, out)
	}
	if code, out := run(w, 0, Golden("other")); code != 0 || !strings.Contains(out, "run all tests to make it") {
		t.Errorf("%d %s", code, out)
	}
	w.env.NoTests = true
	if code, out := run(w, 0, Root("app.sessions").None()); code != 0 || out != "" {
		t.Errorf("-list: %d %q", code, out)
	}

	w = newWorld(t)
	w.err = &refscan.UnavailableError{Cause: "no snapshots here", Err: errors.ErrUnsupported}
	if code, out := run(w, 0); code != 0 || !strings.Contains(out, "--- UNKNOWN: TestMain") {
		t.Errorf("%d %q", code, out)
	}
	w.env.Strict = true
	if code, out := run(w, 0); code != 1 || !strings.Contains(out, "--- FAIL: TestMain") {
		t.Errorf("%d %q", code, out)
	}
	w.VerifyTestMain(nil, environ.Site{}, newRequest(nil))
	if w.exitCode != 1 {
		t.Error("a nil TestingM passed")
	}
}

// Benchmarks leave more, the longer they run: what a golden file says is what the tests leave.
func TestVerifyTestMainAfterBenchmarks(t *testing.T) {
	w := newWorld(t)
	w.env.Benchmarks = true
	run := func(left int64, opts ...Option) (int, string) {
		w.reports = []*refscan.Report{report(sessions(left))}
		w.stderrBuf.Reset()
		w.VerifyTestMain(fakeM(0), environ.Site{}, newRequest(opts))
		return w.exitCode, w.stderrBuf.String()
	}
	_, file := w.env.GoldenPath("TestMain.golden")
	for _, asked := range []bool{false, true} {
		w.env.Update = asked
		code, out := run(300)
		if _, err := os.Stat(file); code != 0 || err == nil || !strings.Contains(out, "run all tests to make it, without benchmarks") {
			t.Errorf("without a file: %d %v %q", code, err, out)
		}
	}
	w.env.Ci = true
	if code, out := run(300); code != 1 || !strings.Contains(out, "there is no golden file") {
		t.Errorf("without a file, in CI: %d %q", code, out)
	}
	w.env.Benchmarks, w.env.Update, w.env.Ci = false, false, false
	if code, out := run(3); code != 0 || !strings.Contains(out, "created testdata/leakcheck/TestMain.golden") {
		t.Fatalf("%d %q", code, out)
	}
	made := w.goldenText(t, "TestMain.golden")
	w.env.Benchmarks = true
	for _, asked := range []bool{false, true} {
		w.env.Update = asked
		if code, out := run(3); code != 0 || strings.Contains(out, "UNKNOWN") {
			t.Errorf("no more than the file allows: %d %q", code, out)
		}
		code, out := run(300)
		if code != 0 || !strings.Contains(out, "--- UNKNOWN: TestMain") || !strings.Contains(out, "run the tests without -bench") {
			t.Errorf("more than the file allows: %d %q", code, out)
		}
		if w.goldenText(t, "TestMain.golden") != made {
			t.Error("benchmarks changed the file")
		}
	}
	w.env.Ci = true
	if code, out := run(300); code != 1 {
		t.Errorf("more than the file allows, in CI: %d %q", code, out)
	}
	if code, _ := run(300, Root("app.sessions").MaxObjects(10)); code != 1 {
		t.Error("a bound does not count what benchmarks leave")
	}
	// leakgate run -base runs both revisions with the same flags.
	w.env.Goldens = t.TempDir()
	if code, out := run(300); code != 0 || !strings.Contains(out, "created ") {
		t.Errorf("LEAKGATE_GOLDENS: %d %q", code, out)
	}
}

// The go command learns what the check read, and nothing of it hinders a test.
func TestVerifyTestMainLogsInputs(t *testing.T) {
	w := newWorld(t, report(sessions(3)))
	w.env.TestLog = filepath.Join(t.TempDir(), "testlog.txt")
	const log = "# test log\ngetenv HOME\n"
	_, file := w.env.GoldenPath("TestMain.golden")
	for _, tt := range []struct {
		name, before string
		opts         []Option
		added        []string // nil: nothing at all
		not          string
	}{
		{"a log", log, nil, []string{"getenv CI\n", "getenv LEAKGATE_UPDATE\n", "getenv LEAKCHECK_UPDATE\n", "open " + file + "\n"}, "\n\n"},
		{"bounds", log, []Option{Root("app.sessions").MaxObjects(100)}, []string{"getenv CI\n"}, "\nopen "},
		{"another form", "# new log\ngetenv HOME\n", nil, nil, ""},
		{"shorter", "# test", nil, nil, ""},
		{"no log", "", nil, nil, ""},
	} {
		_ = os.Remove(w.env.TestLog)
		if tt.before != "" {
			if err := os.WriteFile(w.env.TestLog, []byte(tt.before), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		w.stderrBuf.Reset()
		w.VerifyTestMain(fakeM(0), environ.Site{}, newRequest(tt.opts))
		if w.exitCode != 0 {
			t.Errorf("%s: %s", tt.name, w.stderrBuf.String())
		}
		data, err := os.ReadFile(w.env.TestLog)
		if (err == nil) != (tt.before != "") {
			t.Errorf("%s: %v", tt.name, err)
		}
		added, ok := strings.CutPrefix(string(data), tt.before)
		if !ok || tt.added == nil && added != "" || tt.not != "" && strings.Contains(added, tt.not) {
			t.Errorf("%s: %q", tt.name, data)
		}
		for _, line := range tt.added {
			if !strings.Contains("\n"+added, "\n"+line) {
				t.Errorf("%s: no %q in %q", tt.name, line, added)
			}
		}
	}
}
