package check

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// folder is the environment of a package in a folder of its own, with a golden file of a text; ""
// for none.
func folder(t *testing.T, text string) *environ.Environment {
	t.Helper()
	env := &environ.Environment{Dir: t.TempDir(), PackagePath: "example.com/app", ModulePath: "example.com/app"}
	if text != "" {
		_, path := env.GoldenPath("T.golden")
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return env
}

// opened is the comparison with the golden file of an environment.
func opened(t *testing.T, env *environ.Environment) *Comparison {
	t.Helper()
	c, err := OpenGolden(env, "T.golden")
	require.NoError(t, err)
	return c
}

// compared is the evaluation of a report by a golden file.
func compared(r *request.Request, env *environ.Environment, file *Comparison, obs *observe.Observation) *Evaluation {
	return Evaluate(obs, r, tree.Scope{}, []Check{&GoldenCheck{Req: r, Env: env, File: file}})
}

const sessionsGolden = `leakgate golden v1
# objects         bytes  path                                              type

        1     8192~100%  example.com/app.sessions                          map[string]*example.com/app.Session
      100          9600  example.com/app.sessions[*]                       *example.com/app.Session
      100    32000~100%  example.com/app.sessions[*].buf                   []uint8
       50      800~100%  example.com/app.sessions[*].id                    string
`

// Without a file, one is made outside of CI, or where it is asked for.
func TestOpenMissingGolden(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*environ.Environment)
		write  bool
	}{
		{"at home", func(*environ.Environment) {}, true},
		{"in CI", func(e *environ.Environment) { e.Ci = true }, false},
		{"an update in CI", func(e *environ.Environment) { e.Ci, e.Update = true, true }, true},
		{"in another folder in CI", func(e *environ.Environment) { e.Ci, e.Goldens = true, filepath.Join(e.Dir, "base") }, true},
		{"measured", func(e *environ.Environment) { e.Measure = true }, false},
		{"measured, an update", func(e *environ.Environment) { e.Measure, e.Update = true, true }, false},
	} {
		env := folder(t, "")
		tt.change(env)
		c := opened(t, env)
		assert.Equal(t, tt.write, c.Write, tt.name)
		assert.Equal(t, env.Measure, c.MeasureOnly, tt.name)
		assert.Equal(t, "missing", c.Status, tt.name)
		assert.True(t, c.File == nil, tt.name)
		assert.True(t, c.Changed(), tt.name)
		assert.Equal(t, tt.write, c.Writing(), tt.name)
		assert.Empty(t, c.Elsewhere, tt.name)
	}
	env := folder(t, "")
	env.PackagePath = "github.com/leakgate/leakgate/leakcheck/internal/check"
	c := opened(t, env)
	assert.False(t, c.Write, "the process does not run in the folder of this package")
	assert.Contains(t, c.Elsewhere, "this test binary runs in "+env.Dir+", not in ")
	assert.Equal(t, "this test binary runs in /tmp, not in the folder of package app", elsewhereFrom(&environ.Environment{Dir: "/tmp", PackagePath: "app"}, ""))
	assert.Equal(t, "this test binary runs in /tmp, not in /src/app", elsewhereFrom(&environ.Environment{Dir: "/tmp", PackagePath: "app"}, "/src/app"))
	env.Goldens = filepath.Join(env.Dir, "base")
	c = opened(t, env)
	assert.True(t, c.Write, "the golden files are in a folder of their own")
}

// A file that cannot be read is named as the go command names source files.
func TestOpenBadGolden(t *testing.T) {
	for text, want := range map[string]string{
		"leakgate golden v1\n\n x 1 a b\n": "testdata/leakcheck/T.golden:3:2: expected a bound on objects",
		"leakgate golden v99\n":            "testdata/leakcheck/T.golden:1: unknown golden format v99",
	} {
		env := folder(t, text)
		_, err := OpenGolden(env, "T.golden")
		require.Error(t, err)
		assert.True(t, strings.HasPrefix(err.Error(), want), err.Error())
	}
	env := folder(t, "")
	_, path := env.GoldenPath("T.golden")
	require.NoError(t, os.MkdirAll(path, 0o755))
	_, err := OpenGolden(env, "T.golden")
	assert.ErrorContains(t, err, "T.golden")
	env.DirErr = errors.New("no folder")
	_, err = OpenGolden(env, "T.golden")
	assert.EqualError(t, err, "cannot tell where the golden files are: no folder")
}

// A file that is there is compared. It is rewritten only where an update is asked for.
func TestOpenGolden(t *testing.T) {
	env := folder(t, sessionsGolden)
	c := opened(t, env)
	assert.False(t, c.Write || c.MeasureOnly)
	assert.Equal(t, "testdata/leakcheck/T.golden", c.Shown)
	assert.Equal(t, sessionsGolden, string(c.File.Bytes()))
	env.Update = true
	assert.True(t, opened(t, env).Write)
	env.Measure = true
	c = opened(t, env)
	assert.False(t, c.Write)
	assert.True(t, c.MeasureOnly)
}

// The golden file's lines that do not hold are findings with their branches.
func TestGoldenCheck(t *testing.T) {
	env := folder(t, sessionsGolden)
	e := compared(&request.Request{}, env, opened(t, env), observed(report(sessions(100))))
	assert.True(t, e.Ok() && e.Golden.Ok())
	assert.Equal(t, "match", e.Golden.Status)
	assert.Empty(t, e.Findings)
	assert.Empty(t, e.Golden.Improvements())
	assert.Empty(t, e.Golden.Tighter())
	assert.False(t, e.Golden.Changed())

	file := opened(t, env)
	e = compared(&request.Request{}, env, file, observed(report(sessions(101))))
	assert.False(t, e.Ok() || e.Golden.Ok())
	assert.Equal(t, "mismatch", e.Golden.Status)
	require.Len(t, e.Findings, 2)
	most := int64(100)
	bytes := int64(9600)
	assert.Equal(t, verdict.Bound{
		Kind: verdict.Retained, Selector: "golden example.com/app.sessions[*]", MaxObjects: &most, MaxBytes: &bytes, Objects: 101, Bytes: 9696,
		Path: "example.com/app.sessions[*]", Type: "*example.com/app.Session",
	}, e.Findings[0].Record)
	assert.Equal(t, []string{"example.com/app.sessions[*]"}, paths(e.Findings[0].Culprits))
	assert.Nil(t, e.Findings[1].Record.MaxBytes, "the bytes are within the tolerance")
	assert.False(t, e.Findings[0].Freed)
	assert.Contains(t, e.Golden.Diff, "-      100          9600  example.com/app.sessions[*] ")
	assert.Contains(t, e.Golden.Diff, "+      101          9696  example.com/app.sessions[*] ")
	n, first := e.Broken()
	assert.Equal(t, 2, n)
	assert.Contains(t, first, "example.com/app.sessions[*] *example.com/app.Session: 101 objects, golden 100 (+1)")
	assert.Empty(t, file.Failures, "the comparison of one snapshot leaves the file as it was")

	e = compared(&request.Request{}, env, opened(t, env), observed(report(sessions(90))))
	assert.True(t, e.Ok())
	assert.Equal(t, "testdata/leakcheck/T.golden: less is retained than 3 lines allow; an update would tighten it", e.Golden.Improvements())
	assert.Contains(t, e.Golden.Tighter(), "       90          8640  example.com/app.sessions[*] ")

	env.Update = true
	e = compared(&request.Request{}, env, opened(t, env), observed(report(sessions(101))))
	assert.True(t, e.Ok(), "it is about to be written")
	assert.True(t, e.Golden.Writing())
	assert.Empty(t, e.Findings)
	env.Measure = true
	e = compared(&request.Request{}, env, opened(t, env), observed(report(sessions(101))))
	assert.True(t, e.Ok())
	assert.Equal(t, "measured", e.Golden.Status)
	assert.Contains(t, string(e.Golden.Updated.Bytes()), "      101          9696  example.com/app.sessions[*] ")
}

// The figure of a line that is exceeded decides what its finding is about, and which branch comes
// first.
func TestLineFindings(t *testing.T) {
	lines := []golden.Measurement{
		{Path: "example.com/app.v.few", Type: "*int", Objects: 1}, {Path: "example.com/app.v.many", Type: "*int"},
	}
	f := tree.GrowForest(report(global(node("example.com/app.v", "*example.com/app.T", 0, 0, node("few", "*int", 1, 900), node("many", "*int", 5, 50)), "", 0)))
	finding := lineFinding(&golden.Difference{Kind: golden.Over, Entry: golden.Entry{Path: "app.v.*", Type: "*int"}, Objects: 6, Bytes: 950, BytesOver: 50, Covered: lines}, f)
	assert.True(t, finding.Broken)
	assert.Equal(t, []string{"example.com/app.v.few", "example.com/app.v.many"}, paths(finding.Culprits))
	assert.Equal(t, int64(900), *finding.Record.MaxBytes)
	assert.Nil(t, finding.Record.MaxObjects)
	finding = lineFinding(&golden.Difference{Kind: golden.Over, Entry: golden.Entry{Path: "app.v.*", Type: "*int"}, Objects: 6, Bytes: 950, ObjectsOver: 2, Covered: lines}, f)
	assert.Equal(t, []string{"example.com/app.v.many", "example.com/app.v.few"}, paths(finding.Culprits))
	assert.Equal(t, int64(4), *finding.Record.MaxObjects)
	assert.Nil(t, finding.Record.MaxBytes)
	finding = lineFinding(&golden.Difference{Kind: golden.Unlisted, Entry: golden.Entry{Path: "app.v"}, Bytes: 950, BytesOver: 950}, f)
	assert.Equal(t, int64(0), *finding.Record.MaxObjects, "a path without a line may have nothing")
	assert.Equal(t, int64(0), *finding.Record.MaxBytes)
}

// The lines that a request asks for beside the heap's are measured, too.
func TestGoldenCheckOfOptions(t *testing.T) {
	env := folder(t, "")
	n := sessions(4)
	n.RetainedObjects, n.RetainedBytes = 12, 9000
	obs := running(workers(3, 50_000))
	obs.Report, obs.Names = report(n), appNames
	obs.Report.Retained = true
	r := asked(t, about("app.New", request.RecordCount, 0))
	r.Record(ofSessions)
	e := compared(r, env, opened(t, env), obs)
	text := string(e.Golden.Updated.Bytes())
	assert.Contains(t, text, "       12     9000~100%  retained:example.com/app.sessions ")
	assert.Contains(t, text, "        3             0  goroutine:example.com/app.(*pool).run ")
	r.Baseline = &request.Baseline{Goroutines: goroutine.TakeCensus(workers(1, 50_000))}
	text = string(compared(r, env, opened(t, env), obs).Golden.Updated.Bytes())
	assert.Contains(t, text, "        2             0  goroutine:example.com/app.(*pool).run ")

	env = folder(t, "leakgate golden v1\n")
	r = &request.Request{}
	r.Record(ofSessions)
	r.Record(request.RootSelector("app.sesions"))
	e = compared(r, env, opened(t, env), obs)
	require.Len(t, e.Problems, 1)
	assert.Contains(t, e.Problems[0], `Root("app.sesions"): the program has no package variable`)
	require.NotEmpty(t, e.Findings)
	assert.True(t, e.Findings[0].Freed)
}

// What goes together with a golden file, and what a snapshot is to have.
func TestGoldenOptions(t *testing.T) {
	problems := func(env environ.Environment, change func(*request.Request)) []string {
		r := &request.Request{}
		change(r)
		return (&GoldenCheck{Req: r, Env: &env}).Problems(r)
	}
	nothing := func(*request.Request) {}
	since := func(r *request.Request) { r.Baseline = &request.Baseline{} }
	record := func(r *request.Request) { r.Record(ofSessions) }
	native := func(r *request.Request) { r.Native = true }
	both := func(a, b func(*request.Request)) func(*request.Request) {
		return func(r *request.Request) { a(r); b(r) }
	}
	known := environ.Environment{PackagePath: "example.com/app"}
	for _, ok := range []func(*request.Request){nothing, since, record, native} {
		assert.Empty(t, problems(known, ok))
	}
	assert.Equal(t, []string{SinceBesideRetained}, problems(known, both(since, record)))
	assert.Equal(t, []string{SinceBesideNative}, problems(known, both(since, native)))
	unknown := environ.Environment{PackagePath: "example.com/shop", NoBuildInfo: true}
	require.Len(t, problems(unknown, nothing), 1)
	assert.Contains(t, problems(unknown, nothing)[0], `name them, as in Scope("example.com/shop/...")`)
	assert.Empty(t, problems(unknown, func(r *request.Request) { r.Narrow([]string{"example.com/shop"}) }))
	unknown.PackagePath = ""
	assert.Contains(t, problems(unknown, nothing)[0], `name them, as in Scope("example.com/app/...")`)

	needs := func(change func(*request.Request)) [3]bool {
		r := &request.Request{}
		change(r)
		n := (&GoldenCheck{Req: r, Env: &known}).Needs()
		assert.True(t, n.Order != nil)
		return [3]bool{n.Heap, n.Retained, n.Native}
	}
	assert.Equal(t, [3]bool{true, false, false}, needs(nothing))
	assert.Equal(t, [3]bool{true, true, false}, needs(record))
	assert.Equal(t, [3]bool{true, false, true}, needs(native))
}

// What is written is what was measured, and the log says so.
func TestSave(t *testing.T) {
	env := folder(t, "")
	r := &request.Request{}
	made := compared(r, env, opened(t, env), observed(report(sessions(100)))).Golden
	assert.False(t, made.Written())
	lines, err := made.Save()
	require.NoError(t, err)
	assert.Equal(t, []string{"created testdata/leakcheck/T.golden with 4 lines; review it and commit it"}, lines)
	assert.Equal(t, "created", made.Status)
	assert.True(t, made.Written())
	_, path := env.GoldenPath("T.golden")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, sessionsGolden, string(data))

	env.Update = true
	same := compared(r, env, opened(t, env), observed(report(sessions(100)))).Golden
	lines, err = same.Save()
	require.NoError(t, err)
	assert.Empty(t, lines)
	assert.False(t, same.Written() || same.Writing())
	updated := compared(r, env, opened(t, env), observed(report(sessions(102)))).Golden
	assert.True(t, updated.Writing())
	lines, err = updated.Save()
	require.NoError(t, err)
	assert.Equal(t, "updated testdata/leakcheck/T.golden", lines[0])
	require.Len(t, lines, 4)
	assert.Equal(t, "    widened    example.com/app.sessions[*] *example.com/app.Session: objects 100 -> 102, bytes 9600 -> 9792", lines[1])
	assert.Equal(t, "updated", updated.Status)
	assert.True(t, updated.Written())
	assert.Equal(t, int64(102), goldenObjects(t, env, "example.com/app.sessions[*]"))

	made.full = filepath.Join(path, "below a file")
	_, err = made.Save()
	assert.Error(t, err)
}

// goldenObjects is the bound on objects of the golden file's line for a path.
func goldenObjects(t *testing.T, env *environ.Environment, path string) int64 {
	t.Helper()
	for _, e := range opened(t, env).File.Entries() {
		if e.Path == path {
			n, _ := e.Objects.Max()
			return n
		}
	}
	require.Fail(t, "no line for "+path)
	return 0
}

// Two snapshots must show the same before a file is written.
func TestSame(t *testing.T) {
	of := func(n int64) *Comparison {
		c := &Comparison{Write: true}
		c.Compare([]golden.Measurement{{Path: "app.v", Objects: n}})
		return c
	}
	assert.True(t, of(1).Same(of(1)))
	assert.False(t, of(1).Same(of(2)))
	assert.False(t, of(1).Same(nil))
	var none *Comparison
	assert.False(t, none.Same(of(1)))
	assert.False(t, none.Writing())
	c := of(1)
	c.Write = false
	assert.False(t, c.Ok(), "there is no file, and none is made")
	assert.False(t, c.Writing())
}

// As many objects at new paths as lines lack are a rename.
func TestRenamed(t *testing.T) {
	file := golden.New([]golden.Measurement{{Path: "app.a", Objects: 3}, {Path: "app.b", Objects: 4}, {Path: "app.c", Objects: 5}})
	for _, tt := range []struct {
		measured []golden.Measurement
		want     int
	}{
		{[]golden.Measurement{{Path: "app.a", Objects: 3}, {Path: "app.b", Objects: 4}, {Path: "app.c", Objects: 5}}, 0},
		{[]golden.Measurement{{Path: "new.a", Objects: 3}, {Path: "new.b", Objects: 4}, {Path: "app.c", Objects: 5}}, 2},
		{[]golden.Measurement{{Path: "new.a", Objects: 3}, {Path: "new.b", Objects: 5}, {Path: "app.c", Objects: 5}}, 0},
		{[]golden.Measurement{{Path: "new.a", Objects: 3}, {Path: "app.b", Objects: 4}, {Path: "app.c", Objects: 6}}, 0},
		{[]golden.Measurement{{Path: "new.a", Objects: 3}, {Path: "app.b", Objects: 2}, {Path: "app.c", Objects: 5}}, 1},
	} {
		c := &Comparison{File: file}
		c.Compare(tt.measured)
		assert.Equal(t, tt.want, c.Renamed(), tt.measured)
	}
}

// A comparison says nothing of what was compared before.
func TestCompareAgain(t *testing.T) {
	of := func(n int64) []golden.Measurement { return []golden.Measurement{{Path: "app.v", Objects: n}} }
	c := &Comparison{File: golden.New(of(2))}
	c.Compare(of(1))
	assert.Contains(t, c.Improvements(), "less is retained than 1 line allows; an update would tighten it")
	c.Compare(of(3))
	assert.False(t, c.Ok())
	c.Compare(of(2))
	assert.True(t, c.Ok())
	assert.Equal(t, "match", c.Status)
	assert.Empty(t, c.Improvements())
	assert.Empty(t, c.Diff)
}

// Roots with a line in the file are spelled out as deep as the file has them.
func TestListed(t *testing.T) {
	c := &Comparison{}
	assert.False(t, c.listed("app.v"))
	c.File = golden.New([]golden.Measurement{{Path: "app.v.x", Objects: 1}, {Path: "app.w[*]", Objects: 1}, {Path: "app.u", Objects: 1}})
	for root, want := range map[string]bool{"app.v": true, "app.w": true, "app.u": true, "app.x": false, "app": true, "ap": false} {
		assert.Equal(t, want, c.listed(root), root)
	}
}

// What cutting the branches of several selectors would free has one line each.
func TestCutLines(t *testing.T) {
	a, b := freeing("example.com/app.a", 3, 1), freeing("example.com/app.b", 2, 0)
	c := global(node("example.com/app.c", "*example.com/app.Session", 1, 8), "", 0)
	varies := freeing("example.com/app.table", 5, 0)
	varies.Type = "*sync.Map"
	r := report(a, b, c, varies)
	r.Retained = true
	lines := cutLines([]request.Selector{request.RootSelector("app.b"), request.RootSelector("app.*")}, tree.GrowForest(r))
	assert.Equal(t, []golden.Measurement{
		{Path: "retained:example.com/app.a", Type: "*example.com/app.Session", Objects: 3, Bytes: 30, BytesTolerance: tree.OneStep},
		{Path: "retained:example.com/app.b", Type: "*example.com/app.Session", Objects: 2, Bytes: 20, BytesTolerance: tree.OneStep},
		{Path: "retained:example.com/app.table", Type: "*sync.Map", Bytes: 50, BytesTolerance: tree.OneStep},
	}, lines)
}
