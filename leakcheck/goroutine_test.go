package leakcheck

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/reporttest"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/refscan"
)

// pool is n workers with a frame of some size.
func pool(n, frame int) []*refscan.GoroutineStack {
	return reporttest.Goroutines(n, "example.com/app.New.gowrap1", "example.com/app.New",
		reporttest.StackOf("example.com/app.New.gowrap1", 40, "example.com/app.(*pool).run", 100, "example.com/app.(*pool).handle", frame, "runtime.gopark", 32))
}

// onStacks gives the world goroutines.
func (w *world) onStacks(goroutines ...[]*refscan.GoroutineStack) {
	w.stacks = refscan.Stacks{GoVersion: "go1.26.8", Goroutines: slices.Concat(goroutines...)}
}

func TestGoroutineBounds(t *testing.T) {
	w := newWorld(t, report(sessions(1)))
	tool := reporttest.Goroutines(1, "github.com/leakgate/leakgate/refscan.collectNow", "github.com/leakgate/leakgate/refscan.collect", reporttest.StackOf("github.com/leakgate/leakgate/refscan.collectNow", 10))
	system := reporttest.Goroutines(1, "runtime.bgsweep", "", reporttest.StackOf("runtime.bgsweep", 10))
	system[0].System = true
	self := reporttest.Goroutines(1, "testing.tRunner", "testing.(*T).Run", reporttest.StackOf("testing.tRunner", 100, "example.com/app.TestX", 200,
		"github.com/leakgate/leakgate/leakcheck.AssertRetained", 5000, "runtime.gopark", 6000))
	self[0].Self = true
	closure := reporttest.Goroutines(2, "example.com/app.New.func1", "example.com/app.New", reporttest.StackOf("example.com/app.New.func1", 50))
	yaml := reporttest.Goroutines(1, "gopkg.in/yaml%2ev3.load", "example.com/app.New", reporttest.StackOf("gopkg.in/yaml%2ev3.load", 50))
	w.onStacks(pool(3, 1000), tool, system, self, closure, yaml)

	pass := []Option{
		Goroutines("app.New").MaxObjects(6), // whatever it created
		Goroutines("example.com/app.(*pool).run").MaxObjects(3),
		Goroutines("app.New.func1").MaxObjects(2),
		Goroutines("yaml.v3.load").MaxObjects(1),
		Goroutines("**").MaxObjects(7), // not the runtime's and the tool's
		Goroutines("app.idle").None(),  // there is such a function
		Goroutines("app.TestX").None(), // a test is in it
		Goroutines("app.(*pool).han*").None(),
		Stack("app.(*pool).run").MaxBytes(3 * 1132),
		Stack("app.(*pool).handle").MaxBytes(3 * 1032),
		Stack("app.(*pool).*").MaxBytes(3 * 1132), // a frame counts once
		Stack("app.TestX").MaxBytes(200),          // the assertion's own stack does not count
		Stack("app.idle").MaxBytes(0),
	}
	for _, o := range pass {
		if ft, ok := w.assert(o); !ok {
			t.Errorf("%s", ft.errorText())
		}
	}
	fail := []struct {
		o    Option
		part string
	}{
		{Goroutines("app.New").MaxObjects(5), "found 6 goroutines: 1 more than allowed"},
		{Goroutines("app.New").None(), "Goroutines(\"app.New\").None()\n    found 6 goroutines\n"},
		{Goroutines("app.(*pool).run").None(), "3 goroutines started in example.com/app.(*pool).run, created by example.com/app.New (pool.go:31)\n       chan receive in example.com/app.(*pool).handle (pool.go:44); stack 192.0 KiB"},
		{Stack("app.(*pool).run").MaxBytes(3*1132 - 1), "found 3.3 KiB in 3 goroutines: 1 B more than allowed\n    the largest frame is that of example.com/app.(*pool).handle (pool.go:30): 1000 B in each of 3 goroutines"},
		{Stack("app.(*pool).run").MaxBytes(0), "1000 B     2.9 KiB  └─ app.(*pool).handle (pool.go:44)"},
		{Goroutines("app.(*pool).handle").MaxObjects(4), "found no goroutine that started there, but 3 in it now: a bound counts goroutines by the function that they started in\n    3 goroutines started in example.com/app.(*pool).run, created by"},
		{Goroutines("app.idel").None(), "the program has no function of that name; did you mean example.com/app.idle?"},
		{Goroutines("").None(), "the pattern is empty"},
		{Stack("app.New").MaxBytes(-1), "Stack(\"app.New\").MaxBytes(-1): a bound cannot be negative"},
	}
	for _, f := range fail {
		ft, ok := w.assert(f.o)
		if ok || !strings.Contains(ft.errorText(), f.part) {
			t.Errorf("%v: %v, without %q:\n%s", f.o, ok, f.part, ft.errorText())
		}
	}
	if w.snapshots != 0 {
		t.Error("bounds on goroutines alone need no heap")
	}

	// Beside bounds on the heap, both count, in one snapshot.
	if ft, ok := w.assert(Root("app.sessions").MaxObjects(9), Goroutines("app.New").MaxObjects(6)); !ok || w.snapshots != 1 {
		t.Errorf("%d snapshots\n%s", w.snapshots, ft.errorText())
	}
	ft, ok := w.assert(Root("app.sessions").None(), Goroutines("app.New").None(), Stack("app.New").MaxBytes(1<<20))
	if ok || !strings.Contains(ft.errorText(), "(2 of 3 bounds)") {
		t.Errorf("%v\n%s", ok, ft.errorText())
	}
}

func TestGoroutineMisuse(t *testing.T) {
	w := newWorld(t, report(sessions(1)))
	for _, c := range []struct {
		opts []Option
		part string
	}{
		{[]Option{Goroutines("app.New").Recorded(), Root("app.sessions").None()}, "Goroutines(\"app.New\").Recorded() beside a bound"},
		{[]Option{Stack("app.New").Recorded(), Goroutines("app.New").None()}, "Stack(\"app.New\").Recorded() beside a bound"},
		{[]Option{GoroutineSelector{}.None()}, "a zero GoroutineSelector"},
		{[]Option{Goroutines("app.New").None(), Golden("x")}, "Golden(\"x\") beside a bound"},
		{[]Option{Goroutines("app.New").None(), Scope("app")}, "Scope and Ignore have no effect on goroutines"},
		{[]Option{Goroutines("app.New").NoneLeaked(), Since(&Baseline{})}, "Goroutines(\"app.New\").NoneLeaked() beside Since"},
	} {
		ft, ok := w.assert(c.opts...)
		if ok || !strings.Contains(ft.errorText(), c.part) {
			t.Errorf("%v: %v, without %q:\n%s", c.opts, ok, c.part, ft.errorText())
		}
	}
}

func TestGoroutinesSince(t *testing.T) {
	w := newWorld(t, report(sessions(1)))
	b := &Baseline{request.Baseline{Goroutines: goroutine.TakeCensus(pool(3, 1000))}}
	w.onStacks(pool(5, 1000))
	if ft, ok := w.assert(Goroutines("app.New").MaxObjects(2), Stack("app.New").MaxBytes(2*1172), Since(b)); !ok {
		t.Error(ft.errorText())
	}
	ft, ok := w.assert(Goroutines("app.New").MaxObjects(1), Since(b))
	if ok || !strings.Contains(ft.errorText(), "found 2 goroutines beyond the baseline: 1 more than allowed") {
		t.Error(ft.errorText())
	}
}

func TestGoroutineUnwalkable(t *testing.T) {
	w := newWorld(t)
	w.env.Strict = true
	lost := pool(1, 100)
	lost[0].Trace = &refscan.StackTrace{Unknown: 100, Problem: "the goroutine was running"}
	w.onStacks(lost)
	ft, ok := w.assert(Stack("app.New").MaxBytes(1 << 20))
	if ok || !strings.Contains(ft.errorText(), "UNKNOWN") || !strings.Contains(ft.errorText(), "the goroutine was running") {
		t.Error(ft.errorText())
	}
}

func TestLeakedMessage(t *testing.T) {
	w := newWorld(t)
	var leaked []*refscan.LeakedGoroutine
	for _, g := range append(pool(2, 1000), reporttest.Goroutines(1, "other.org/lib.run", "other.org/lib.Start", reporttest.StackOf("other.org/lib.run", 10))...) {
		leaked = append(leaked, &refscan.LeakedGoroutine{GoroutineStack: g, HeapObjects: 3, HeapBytes: 1 << 20})
	}
	w.onStacks(pool(4, 1000))
	w.leaked = leaked
	ft, ok := w.assert(Goroutines("app.**").NoneLeaked())
	if ok {
		t.Fatal("leaked goroutines pass")
	}
	wantText(t, "message", ft.errorText(), `
leakcheck: more is retained than the test allows

Goroutines("app.**").NoneLeaked()
    found 2 goroutines blocked for ever, with 128.0 KiB of stack and 6 objects, 2.0 MiB of heap
    2 goroutines started in example.com/app.(*pool).run, created by example.com/app.New (pool.go:31)
       chan receive in example.com/app.(*pool).handle (pool.go:44): no variable of the program and no goroutine that can still run reaches the channel
       kept alive: 128.0 KiB of stack and 6 objects, 2.0 MiB of heap

still so in the last of 3 snapshots: waiting does not help`)
	w.leaked = leaked[2:]
	if ft, ok := w.assert(Goroutines("app.**").NoneLeaked()); !ok {
		t.Error(ft.errorText())
	}
}

func TestGoroutineGolden(t *testing.T) {
	w := newWorld(t, report(sessions(1)))
	record := []Option{Goroutines("app.**").Recorded(), Goroutines("app.New").Recorded(), Stack("app.**").Recorded()}
	closure := reporttest.Goroutines(2, "example.com/app.New.func2.1", "example.com/app.New.func2", reporttest.StackOf("example.com/app.New.func2.1", 50))
	run := func(goroutines ...[]*refscan.GoroutineStack) (*fakeT, bool) {
		w.onStacks(append(goroutines, closure)...)
		return w.assert(record...)
	}
	if ft, ok := run(pool(3, 1000)); !ok {
		t.Fatal(ft.errorText())
	}
	before := w.goldenText(t, "TestLogout.golden")
	for _, line := range []string{
		"        3             0  goroutine:example.com/app.(*pool).run             created by example.com/app.New\n",
		"        2             0  goroutine:example.com/app.New.func                created by example.com/app.New\n",
	} {
		if !strings.Contains(before, line) {
			t.Errorf("no %q in\n%s", line, before)
		}
	}
	if strings.Contains(before, "stack:") {
		t.Errorf("small frames are recorded:\n%s", before)
	}
	w.env.Ci = true
	if ft, ok := run(pool(3, 1200)); !ok {
		t.Errorf("a frame that is a bit larger fails:\n%s", ft.errorText())
	}
	ft, ok := run(pool(4, 1000))
	if ok || !strings.Contains(ft.errorText(), "4 goroutines started in example.com/app.(*pool).run") {
		t.Errorf("%v\n%s", ok, ft.errorText())
	}
	ft, ok = run(pool(3, 65<<10))
	for _, part := range []string{
		"+        3   196608~100%  stack:example.com/app.(*pool).handle              frame\n",
		"the largest frame is that of example.com/app.(*pool).handle (pool.go:30): 65.0 KiB in each of 3 goroutines",
	} {
		if ok || !strings.Contains(ft.errorText(), part) {
			t.Errorf("no %q in\n%s", part, ft.errorText())
		}
	}

	// Lines that a human wrote stay.
	w.writeGolden(t, "TestLogout.golden", strings.Replace(before, "        3             0  goroutine", "      <=9             0  goroutine", 1))
	w.env.Ci, w.env.Update = false, true
	if ft, ok := run(pool(8, 65<<10)); !ok {
		t.Error(ft.errorText())
	}
	after := w.goldenText(t, "TestLogout.golden")
	for _, line := range []string{
		"      <=9             0  goroutine:example.com/app.(*pool).run ",
		"        8   524288~100%  stack:example.com/app.(*pool).handle ",
	} {
		if !strings.Contains(after, line) {
			t.Errorf("no %q in\n%s", line, after)
		}
	}
}

func TestGoroutineRecord(t *testing.T) {
	w := newWorld(t)
	w.env.Artifacts = t.TempDir()
	w.onStacks(pool(3, 1000))
	w.assert(Goroutines("app.New").Max(2), Stack("app.(*pool).run").MaxBytes(10))
	r := readResult(t, filepath.Join(w.env.Artifacts, "example.com", "app", "TestLogout", "1"))
	if len(r.Bounds) != 2 {
		t.Fatalf("%+v", r)
	}
	b := r.Bounds[0]
	if b.Selector != `Goroutines("app.New")` || *b.MaxObjects != 2 || b.Objects != 3 || b.Verdict != verdict.Fail || b.Path != "example.com/app.(*pool).run" || b.Line != 31 {
		t.Errorf("%+v", b)
	}
	b = r.Bounds[1]
	if b.Selector != `Stack("app.(*pool).run")` || *b.MaxBytes != 10 || b.Bytes != 3*1132 || b.Path != "example.com/app.(*pool).handle" {
		t.Errorf("%+v", b)
	}
	if r.Artifacts["report"] != "" || r.Artifacts["retained"] != "" {
		t.Errorf("there was no scan: %v", r.Artifacts)
	}
}

func TestGoroutinesOfPackage(t *testing.T) {
	w := newWorld(t)
	w.onStacks(pool(2, 1000))
	w.VerifyTestMain(fakeM(0), environ.Site{}, newRequest([]Option{Goroutines("app.**").None()}))
	if text := w.stderrBuf.String(); w.exitCode != 1 || !strings.Contains(text, "    2 goroutines started in example.com/app.(*pool).run") {
		t.Errorf("%d\n%s", w.exitCode, text)
	}
	w.VerifyTestMain(fakeM(0), environ.Site{}, newRequest([]Option{Goroutines("app.**").MaxObjects(2)}))
	if w.exitCode != 0 {
		t.Error(w.exitCode)
	}
}
