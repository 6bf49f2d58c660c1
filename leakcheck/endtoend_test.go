package leakcheck

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A scratchModule is testdata/app as a user's module, outside of this repository.
type scratchModule struct{ dir string }

func newScratchModule(t *testing.T) *scratchModule {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("snapshots need linux on amd64 or arm64")
	}
	if testing.Short() {
		t.Skip("builds and runs other test binaries")
	}
	repo, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	m := &scratchModule{dir: t.TempDir()}
	if err := os.CopyFS(m.dir, os.DirFS(filepath.Join("testdata", "app"))); err != nil {
		t.Fatal(err)
	}
	mod := "module example.com/app\n\ngo 1.26\n\nrequire github.com/leakgate/leakgate v0.0.0\n\nreplace github.com/leakgate/leakgate => " + repo + "\n"
	if err := os.WriteFile(filepath.Join(m.dir, "go.mod"), []byte(mod), 0o644); err != nil {
		t.Fatal(err)
	}
	return m
}

// empty removes all but go.mod.
func (m *scratchModule) empty(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(m.dir)
	require.NoError(t, err)
	for _, e := range entries {
		if e.Name() != "go.mod" {
			require.NoError(t, os.RemoveAll(filepath.Join(m.dir, e.Name())))
		}
	}
}

// run runs a command in a package's folder and returns what it printed, and whether it succeeded.
func (m *scratchModule) run(t *testing.T, dir string, env []string, command ...string) (string, bool) {
	t.Helper()
	c := exec.Command(command[0], command[1:]...)
	c.Dir = filepath.Join(m.dir, dir)
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name != "CI" && !strings.HasPrefix(name, "LEAK") {
			c.Env = append(c.Env, v)
		}
	}
	c.Env = append(append(c.Env, "GOFLAGS=-mod=mod", "LEAKGATE_STRICT=1"), env...)
	out, err := c.CombinedOutput()
	return string(out), err == nil
}

// The build information of tests of package main lacks the ".test" that others have.
func TestEndToEndOfPackageMain(t *testing.T) {
	require.Slow(t)
	m := newScratchModule(t)
	if out, ok := m.run(t, "cmd", nil, "go", "test", "-count=1", "."); !ok {
		t.Error("\n" + out)
	}
}

// A test binary whose objects are padded has no verdict: neither on tests that hold, nor on a leak.
func TestEndToEndAddressSanitizer(t *testing.T) {
	require.Slow(t)
	m := newScratchModule(t)
	allocs := `package app

import (
	"testing"

	"github.com/leakgate/leakgate/leakcheck"
)

var last *[8]int

func TestAllocs(t *testing.T) {
	leakcheck.AssertAllocs(t, func() { last = new([8]int) }, leakcheck.Type[*[8]int]().MaxAllocsPerOp(0))
}
`
	if err := os.WriteFile(filepath.Join(m.dir, "allocs_test.go"), []byte(allocs), 0o644); err != nil {
		t.Fatal(err)
	}
	out, ok := m.run(t, ".", []string{"CGO_ENABLED=1"}, "go", "test", "-asan", "-v", "-count=1", "-run=^Test(Clean|Leak|Allocs)$", ".")
	if strings.Contains(out, "[build failed]") {
		t.Skipf("no address sanitizer: %s", out)
	}
	if ok || strings.Count(out, "the program is built with -asan") != 3 || strings.Contains(out, "--- PASS") {
		t.Error("\n" + out)
	}
}

func TestEndToEnd(t *testing.T) {
	m := newScratchModule(t)
	// A plain "go test", whose binary has no debug information.
	out, _ := m.run(t, ".", nil, "go", "test", "-v", "-count=1", ".")
	for test, want := range map[string]string{
		"TestClean": "PASS", "TestLeak": "FAIL", "TestOwn": "FAIL", "TestGoroutine": "FAIL",
		"TestSince": "PASS", "TestTypo": "FAIL", "TestTypoInPath": "FAIL", "TestTypeOfNoObject": "FAIL", "TestGolden": "PASS",
	} {
		if !strings.Contains(out, "--- "+want+": "+test+" ") {
			t.Errorf("%s: want %s", test, want)
		}
	}
	for _, part := range []string{
		"held by the package variable example.com/app.sessions (app.go:11)",
		"100     4.7 KiB  └─ [*]  *app.Session\n",
		"held by your test itself: the variable s of example.com/app.TestOwn (app_test.go:",
		"held by the variable held of example.com/app.(*Pool).run (app.go:42)",
		"in a goroutine, created by example.com/app.NewPool (app.go:37)",
		"did you mean example.com/app.sessions?",
		"app.sessions[*] has no field Bufs; did you mean app.sessions[*].buf?",
		`TypeNamed("app.handler").None(): only function types and interfaces have such a name`,
		"created testdata/leakcheck/TestGolden.golden",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("no %q", part)
		}
	}
	if strings.Contains(out, "but not for leakcheck") || regexp.MustCompile(`0x[0-9a-f]{6,}`).MatchString(out) {
		t.Error("a goroutine that ended counts, or an address is shown")
	}
	if t.Failed() {
		t.Log("\n" + out)
	}
}

func TestEndToEndGolden(t *testing.T) {
	require.Slow(t)
	m := newScratchModule(t)
	if out, ok := m.run(t, ".", nil, "go", "test", "-c", "-o", "app.test", "."); !ok {
		t.Fatal(out)
	}
	file := filepath.Join(m.dir, "testdata", "leakcheck", "TestGolden.golden")
	golden := func() string {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		}
		return string(data)
	}
	test := func(what string, want bool, env []string, flags ...string) string {
		t.Helper()
		out, ok := m.run(t, ".", env, append([]string{"./app.test", "-test.run=TestGolden", "-test.v"}, flags...)...)
		if ok != want {
			t.Errorf("%s: passed is %v:\n%s", what, ok, out)
		}
		return out
	}
	if out := test("missing in CI", false, []string{"CI=true"}); !strings.Contains(out, "go test example.com/app -run '^TestGolden$' -leakcheck.update") {
		t.Error(out)
	}
	elsewhere := filepath.Join(m.dir, "elsewhere")
	if err := os.Mkdir(elsewhere, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{nil, {"-leakcheck.update"}} {
		out, ok := m.run(t, "elsewhere", nil, append([]string{"../app.test", "-test.run=TestGolden"}, flags...)...)
		if want := "this test binary runs in " + elsewhere + ", not in " + m.dir + ", so none is made here"; ok || !strings.Contains(out, want) ||
			!strings.Contains(out, "go test example.com/app -run '^TestGolden$' -leakcheck.update") {
			t.Errorf("in another folder, passed is %v: want %q, got\n%s", ok, want, out)
		}
		if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) > 0 {
			t.Error("in another folder, it left", entries, err)
		}
	}
	test("made", true, nil)
	made := golden()
	if !strings.Contains(made, "      100          4800  example.com/app.sessions[*]  ") {
		t.Errorf("golden file:\n%s", made)
	}
	for _, procs := range []string{"GOMAXPROCS=1", "GOMAXPROCS=4"} {
		test("equal, "+procs, true, []string{"CI=true", procs})
	}
	tight := strings.Replace(made, "      100          4800", "       99          4752", 1)
	if err := os.WriteFile(file, []byte(tight), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := test("more", false, nil); !strings.Contains(out, "-       99          4752  example.com/app.sessions[*] ") {
		t.Error(out)
	}
	if golden() != tight {
		t.Error("a failure changed the file")
	}
	test("the package's own -update", true, []string{"CI=true"}, "-update")
	if golden() != made {
		t.Errorf("updated to\n%s\nwant\n%s", golden(), made)
	}
	for _, update := range [][]string{{"LEAKGATE_UPDATE=1"}, {"ITEMS=0"}} {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		var flags []string
		if update[0] == "ITEMS=0" {
			flags = []string{"-leakcheck.update"}
		}
		test("update by "+update[0], true, append(update, "CI=true"), flags...)
		if golden() != made {
			t.Errorf("made again, it is\n%s\nwant\n%s", golden(), made)
		}
	}
}

func TestEndToEndTestMain(t *testing.T) {
	require.Slow(t)
	m := newScratchModule(t)
	if out, ok := m.run(t, "whole", nil, "go", "test", "-c", "-o", "whole.test", "."); !ok {
		t.Fatal(out)
	}
	for _, tt := range []struct {
		name  string
		items string
		flags []string
		want  bool
		part  string
	}{
		{"benchmarks", "3", []string{"-test.bench=.", "-test.benchtime=300x"}, true, "there is no testdata/leakcheck/TestMain.golden yet"},
		{"made", "3", nil, true, "created testdata/leakcheck/TestMain.golden"},
		{"equal", "3", nil, true, "PASS\n"},
		{"equal, then benchmarks", "3", []string{"-test.bench=.", "-test.benchtime=300x"}, false, "UNKNOWN"}, // LEAKGATE_STRICT
		{"more", "40", nil, false, "--- FAIL: TestMain\n    leakcheck: more is retained than the golden file allows"},
		{"a test fails", "none", nil, false, "--- FAIL: TestAdd"},
		{"listed", "40", []string{"-test.list=."}, true, "TestAdd"},
		{"-update", "40", []string{"-update"}, true, "updated testdata/leakcheck/TestMain.golden"},
		{"after", "40", nil, true, "PASS\n"},
	} {
		out, ok := m.run(t, "whole", []string{"ITEMS=" + tt.items}, append([]string{"./whole.test"}, tt.flags...)...)
		if ok != tt.want || !strings.Contains(out, tt.part) {
			t.Errorf("%s: passed is %v:\n%s", tt.name, ok, out)
		}
	}
}

// The module's folder growth has one test for each kind of leak, and one for each healthy program
// that looks a little like one.
func TestEndToEndGrowth(t *testing.T) {
	require.Slow(t)
	m := newScratchModule(t)
	if out, ok := m.run(t, "growth", nil, "go", "test", "-vet=off", "-c", "-o", "growth.test", "-ldflags=-s=0 -w=0", "."); !ok {
		t.Fatal(out)
	}
	for name, want := range map[string]string{
		"Map":           "+1.00 *growth.session/op (+…/op) via example.com/app/growth.sessions[*]\n",
		"Entries":       "+1.00 entries/op (+…/op) in map[int]int via example.com/app/growth.numbers\n",
		"Append":        "B/op in []int via example.com/app/growth.journal\n",
		"EveryOther":    "+0.50 *growth.session/op (+…/op) via example.com/app/growth.service.state.conns[*]\n",
		"List":          "+1.00 *growth.link/op (+…/op) via example.com/app/growth.latest.older\n",
		"Context":       "+1.00 *context.cancelCtx/op",
		"Timer":         "+1.00 timer/op (+…/op) via timer(example.com/app/growth.TestLeakTimer.func1.1)\n",
		"Goroutine":     "+1.00 goroutine/op (+… beside the stack) in example.com/app/growth.watch\n",
		"IdleGoroutine": "+1.00 goroutine/op in example.com/app/growth.startIdle.func1\n",
		"Own":           "held by your test itself: the variable kept of example.com/app/growth.TestLeakOwn (leaks_test.go:",
		"Captured":      "+1.00 *growth.session/op (+…/op) via op.kept.$val[*]\n",
		"OfLocal":       "grows in the field pending of example.com/app/cmd/lib/v2.Client (../cmd/lib/v2/client.go:6)\n",
		"OfDeferred":    "held by your test itself: a temporary value of example.com/app/growth.TestLeakOfDeferred (leaks_test.go:118), such as what a deferred call or a closure refers to\n",
		"OfCleanup":     "grows in the field pending of example.com/app/cmd/lib/v2.Client (../cmd/lib/v2/client.go:6)\n",
		"OfOp":          "grows in the field pending of example.com/app/cmd/lib/v2.Client (../cmd/lib/v2/client.go:6)\n",
		"Keys":          "+1.00 *growth.session/op (+…/op) via example.com/app/growth.weights[$key]\n",
		"PlainKeys":     " entries/op (+…/op) in map[…]bool via example.com/app/growth.flags\n",
		"Finalizer":     "+2.00 *growth.twin/op (+…/op) via finalizer(*example.com/app/growth.twin).other\n",
		"Body":          "/op beside the stack) in net/http.(*persistConn).readLoop\n",
	} {
		out, ok := m.run(t, "growth", nil, "./growth.test", "-test.run=^TestLeak"+name+"$", "-test.v")
		if ok || !strings.Contains(out, "leakcheck: memory grows with every call of op") || !containsInOrder(out, strings.Split(want, "…")) {
			t.Errorf("%s: want %q, got\n%s", name, want, out)
		}
	}
	if out, ok := m.run(t, "growth", nil, "./growth.test", "-test.run=^TestHealthy", "-test.v"); !ok || strings.Count(out, "--- PASS") < 13 {
		t.Error("\n" + out)
	}
}

// containsInOrder reports whether a line has all parts, one after the other.
func containsInOrder(text string, parts []string) bool {
	for line := range strings.Lines(text) {
		found := true
		for _, part := range parts {
			var ok bool
			_, line, ok = strings.Cut(line, part)
			found = found && ok
		}
		if found {
			return true
		}
	}
	return false
}

// The module's folder collected has tests that must pass, and one for each way to keep an object.
func TestEndToEndCollected(t *testing.T) {
	require.Slow(t)
	m := newScratchModule(t)
	if out, ok := m.run(t, "collected", nil, "go", "test", "-vet=off", "-c", "-o", "collected.test", "-ldflags=-s=0 -w=0", "."); !ok {
		t.Fatal(out)
	}
	for name, want := range map[string][]string{
		"LeakMaps": {
			"collected_test.go:88: leakcheck: *collected.Session is still reachable: logged out\n",
			"expected to be garbage when the test ends (collected_test.go:88)\n",
			"it keeps 2 objects alive, 1.0 KiB\n",
			"held by the package variable example.com/app/collected.srv (collected.go:21)\n",
			"example.com/app/collected.srv  *collected.server\n",
			"└─ latest  map[string]*collected.Session\n",
			"   └─ [*]  *collected.Session  ← expected to be garbage\n",
			"cutting that is not enough, it is also held by the package variable example.com/app/collected.srv (collected.go:21)\n",
			"└─ sessions  map[string]*collected.Session\n",
		},
		"LeakList": {
			"leakcheck: *collected.conn is still reachable: disconnected\n",
			"it keeps 1,207 objects alive",
			"└─ conns  *collected.conn  ← expected to be garbage\n",
			"these are alive only as long as that is:\n",
			"*collected.Session is still reachable: logged out\n",
		},
		"LeakGoroutine": {
			"held by the variable s of example.com/app/collected.(*Session).watch.func1 (collected.go:48)\n",
			"in a goroutine, created by example.com/app/collected.(*Session).watch (collected.go:46)\n",
		},
		"LeakOwn": {
			"expected to be garbage (collected_test.go:110)\n",
			"held by your test itself: the variable s of example.com/app/collected.TestLeakOwn (collected_test.go:108)\n",
		},
		"LeakCleanup": {
			"held by a function that was registered with Cleanup, which runs when the test ends\n",
			"$recv  *collected.Session  ← expected to be garbage\n",
		},
		"LeakSuspect": {
			"example.com/app/collected.requests  []*collected.request\n",
			"└─ [*]  *collected.request  ~\n",
			"   └─ ctx  *context.cancelCtx, done  ~\n",
			"      └─ Context  *context.valueCtx\n",
			"         └─ val  *collected.Session  ← expected to be garbage\n",
			"one of the references marked ~ should have been dropped\n",
		},
		"LeakPopped": {
			"held by the package variable example.com/app/collected.stack (paths_test.go:",
			"the usual cause: elements beyond the length are kept alive: clear them before s = s[:n] (clear, slices.Delete)\n",
			"example.com/app/collected.stack  []*collected.Session\n",
			"└─ [*]  *collected.Session, beyond the length  ← expected to be garbage\n",
		},
		"LeakSequence": {"└─ m  ", "   └─ [*]  *collected.Session  ← expected to be garbage\n"},
		"LeakTwice":    {"└─ [*]  *collected.Session  ← expected to be garbage\n"},
		"LeakOtherName": {
			"leakcheck: *go-cache.Item is still reachable: used\n",
			"└─ [*]  *go-cache.Item  ← expected to be garbage\n",
		},
		"LeakGlobal": {
			"it is the package variable example.com/app/collected.srv, or part of it, which lives as long as the program\n",
		},
		"LeakConstant": {
			"leakcheck: *uint8 is still reachable: dropped\n",
			"it is not on Go's heap, but part of the program, or memory of C's: no collection frees it\n",
		},
		"LeakMapped": {
			"leakcheck: *uint8 is still reachable: unmapped\n",
			"it is not on Go's heap",
		},
		"LeakSmall": {
			"held by the package variable example.com/app/collected.kept (collected_test.go:131)\n",
		},
		"Misuse": {
			"leakcheck: ExpectCollected: the pointer is nil\n",
			"leakcheck: ExpectCollected: values of struct {} have no size: they share one address, which is never freed\n",
			"leakcheck: AssertCollected: the pointer is nil\n",
		},
	} {
		out, ok := m.run(t, "collected", nil, "./collected.test", "-test.run=^Test"+name+"$", "-test.v")
		if ok {
			t.Errorf("%s passed:\n%s", name, out)
		}
		rest := out
		for _, w := range want {
			_, after, found := strings.Cut(rest, w)
			if !found {
				t.Errorf("%s: want %q, in order, got\n%s", name, w, out)
				break
			}
			rest = after
		}
		if name != "LeakMaps" && strings.Contains(out, "cutting that is not enough") {
			t.Errorf("%s: there is one path, got\n%s", name, out)
		}
	}
	out, ok := m.run(t, "collected", nil, "./collected.test", "-test.run=^TestLeakAllocated$", "-test.memprofilerate=1")
	want := "allocated at (1 of 2):\n" + strings.Repeat(" ", 15) + "example.com/app/collected.Login (collected.go:27)\n" +
		strings.Repeat(" ", 15) + "example.com/app/collected.TestLeakAllocated (collected_test.go:142)\n"
	if ok || !strings.Contains(out, want) {
		t.Errorf("want %q, got\n%s", want, out)
	}
	for _, flags := range []string{"-test.cpu=2", "-test.cpu=1,4"} {
		if out, ok := m.run(t, "collected", nil, "./collected.test", "-test.run=^TestHealthy|^TestSkipped", "-test.v", "-test.count=3", flags); !ok || strings.Count(out, "--- PASS: TestHealthy") < 18 {
			t.Error("\n" + out)
		}
	}
}
