package leakcheck

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/refscan"
)

const sessionsGolden = `leakgate golden v1
# objects         bytes  path                                              type

        1     8192~100%  example.com/app.sessions                          map[string]*example.com/app.Session
      100          9600  example.com/app.sessions[*]                       *example.com/app.Session
      100    32000~100%  example.com/app.sessions[*].buf                   []uint8
       50      800~100%  example.com/app.sessions[*].id                    string
`

func TestGoldenIsMadeAndCompared(t *testing.T) {
	w := newWorld(t, report(sessions(100)))
	ft, ok := w.assert()
	if !ok || w.snapshots != 2 {
		t.Fatalf("not made: %s (%d snapshots)", ft.errorText(), w.snapshots)
	}
	if said := w.stderrBuf.String(); said != "leakcheck: TestLogout: created testdata/leakcheck/TestLogout.golden with 4 lines; review it and commit it\n" {
		t.Errorf("standard error: %q", said)
	}
	if !ft.logged("created testdata/leakcheck/TestLogout.golden with 4 lines; review it and commit it") {
		t.Errorf("logs: %q", ft.logs)
	}
	wantText(t, "golden", w.goldenText(t, "TestLogout.golden"), sessionsGolden)

	// Equal memory passes at the first snapshot and writes nothing.
	w.snapshots = 0
	ft, ok = w.assert()
	if !ok || w.snapshots != 1 || len(ft.logs) > 0 {
		t.Errorf("%v after %d snapshots: %s %q", ok, w.snapshots, ft.errorText(), ft.logs)
	}

	// Less memory passes, and is logged.
	w.reports = []*refscan.Report{report(sessions(90))}
	if ft, ok = w.assert(); !ok || !ft.logged("less is retained than 3 lines allow;") {
		t.Errorf("%v %s %q", ok, ft.errorText(), ft.logs)
	}

	// More memory fails.
	more := sessions(101)
	more.Root.File = "example.com/app/registry.go" // as with -trimpath
	w.reports = []*refscan.Report{report(more, global(node("example.com/app.cache", "*example.com/app.lru", 1, 64), "example.com/app/cache.go", 9))}
	w2 := newWorld(t, w.reports...)
	w2.writeGolden(t, "TestLogout.golden", sessionsGolden)
	ft, ok = w2.assert()
	if ok {
		t.Error("passed")
	}
	wantText(t, "message", ft.errorText(), `
leakcheck: more is retained than the golden file allows (3 paths): testdata/leakcheck/TestLogout.golden

    @@ -2,6 +2,7 @@
     # objects         bytes  path                                              type
     
    +        1            64  example.com/app.cache                             *example.com/app.lru
             1     8192~100%  example.com/app.sessions                          map[string]*example.com/app.Session
    -      100          9600  example.com/app.sessions[*]                       *example.com/app.Session
    -      100    32000~100%  example.com/app.sessions[*].buf                   []uint8
    +      101          9696  example.com/app.sessions[*]                       *example.com/app.Session
    +      101    32000~100%  example.com/app.sessions[*].buf                   []uint8
            50      800~100%  example.com/app.sessions[*].id                    string

the most: example.com/app.sessions[*] *example.com/app.Session: 101 objects, golden 100 (+1); 9696 bytes, golden 9600 (+96)
    held by the package variable example.com/app.sessions (registry.go:12)

       objects       bytes
             1     8.0 KiB  example.com/app.sessions  map[string]*app.Session, 101 entries
           101     9.5 KiB  └─ [*]  *app.Session

still so in the last of 3 snapshots: waiting does not help
to accept it: go test example.com/app -run '^TestLogout$' -leakcheck.update
for a profile of all that is retained: go test -artifacts, or leakgate run`)
	if got := w2.goldenText(t, "TestLogout.golden"); got != sessionsGolden {
		t.Errorf("a failure changed the file:\n%s", got)
	}
}

// Where paths have other names, the message says so: an update would drop what was written by hand.
func TestGoldenAfterRename(t *testing.T) {
	const note = "nothing is retained now at 4 lines of the file, which had as many objects as are new: "
	for _, tt := range []struct {
		name string
		old  string
		want bool
	}{
		{"renamed", strings.ReplaceAll(sessionsGolden, "app.sessions", "app.users"), true},
		{"renamed, and one more", strings.Replace(strings.ReplaceAll(sessionsGolden, "app.sessions", "app.users"), "      100 ", "       99 ", 1), false},
		{"more", strings.Replace(sessionsGolden, "      100 ", "       99 ", 1), false},
		{"new", "leakgate golden v1\n", false},
	} {
		w := newWorld(t, report(sessions(100)))
		w.writeGolden(t, "TestLogout.golden", tt.old)
		ft, ok := w.assert()
		if ok || strings.Contains(ft.errorText(), note) != tt.want {
			t.Errorf("%s: %s", tt.name, ft.errorText())
		}
	}
}

func TestGoldenUpdate(t *testing.T) {
	w := newWorld(t, report(sessions(101)))
	w.writeGolden(t, "TestLogout.golden", strings.ReplaceAll(sessionsGolden, "      100          9600", "# per user\n   <=200      <=32KiB"))
	w.env.Update, w.env.Ci = true, true
	ft, ok := w.assert()
	if !ok || !ft.logged("updated testdata/leakcheck/TestLogout.golden") || !ft.logged("widened    example.com/app.sessions[*].buf []uint8: objects 100 -> 101") {
		t.Errorf("%v %s %q", ok, ft.errorText(), ft.logs)
	}
	text := w.goldenText(t, "TestLogout.golden")
	for _, part := range []string{"# per user\n    <=200       <=32KiB  example.com/app.sessions[*] ", "      101    32000~100%  example.com/app.sessions[*].buf"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in:\n%s", part, text)
		}
	}
	before, err := os.Stat(filepath.Join(w.env.Dir, "testdata/leakcheck/TestLogout.golden"))
	if err != nil {
		t.Fatal(err)
	}
	if ft, ok = w.assert(); !ok || len(ft.logs) > 0 {
		t.Errorf("a second update: %v %q", ok, ft.logs)
	}
	after, err := os.Stat(filepath.Join(w.env.Dir, "testdata/leakcheck/TestLogout.golden"))
	if err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Error("a second update touched the file")
	}
}

func TestGoldenTroubles(t *testing.T) {
	t.Run("missing in CI", func(t *testing.T) {
		w := newWorld(t, report(sessions(1)))
		w.env.Ci = true
		ft, ok := w.assert()
		wantText(t, "message", ft.errorText(), `leakcheck: there is no golden file testdata/leakcheck/TestLogout.golden, and CI is set, so none is made here; make it and commit it:
    go test example.com/app -run '^TestLogout$' -leakcheck.update`)
		if ok || w.goldenText(t, "TestLogout.golden") != "" || w.snapshots > 0 {
			t.Error("passed, or wrote")
		}
	})
	t.Run("missing for a benchmark in CI", func(t *testing.T) {
		w := newWorld(t, report(sessions(1)))
		w.env.Ci = true
		ft := &fakeT{name: "BenchmarkLogout/100"}
		if w.AssertRetained(ft, environ.Site{}, newRequest(nil)) || !strings.Contains(ft.errorText(), "go test example.com/app -run '^$' -bench '^BenchmarkLogout$/^100$' -leakcheck.update") {
			t.Error(ft.errorText())
		}
	})
	t.Run("no build information", func(t *testing.T) {
		w := newWorld(t, report(sessions(1)))
		w.env.ModulePath, w.env.NoBuildInfo = "", true
		if ft, ok := w.assert(); ok || w.snapshots > 0 || !strings.Contains(ft.errorText(), `name them, as in Scope("example.com/app/...")`) {
			t.Errorf("%v %s", ok, ft.errorText())
		}
		for _, opt := range []Option{Scope("example.com/app/..."), Root("app.sessions").MaxObjects(1000)} {
			if ft, ok := w.assert(opt); !ok {
				t.Error(ft.errorText())
			}
		}
	})
	t.Run("asked for in CI", func(t *testing.T) {
		w := newWorld(t, report(sessions(1)))
		w.env.Ci, w.env.Update = true, true
		if ft, ok := w.assert(); !ok || w.goldenText(t, "TestLogout.golden") == "" {
			t.Errorf("not made: %s", ft.errorText())
		}
	})
	t.Run("syntax error", func(t *testing.T) {
		w := newWorld(t, report(sessions(1)))
		w.env.Update = true
		text := "leakgate golden v1\n\n x 1 a b\n"
		w.writeGolden(t, "TestLogout.golden", text)
		ft, ok := w.assert()
		if ok || !strings.HasPrefix(ft.errorText(), `leakcheck: testdata/leakcheck/TestLogout.golden:3:2: expected a bound on objects`) {
			t.Errorf("%v %s", ok, ft.errorText())
		}
		if w.goldenText(t, "TestLogout.golden") != text {
			t.Error("an update overwrote what it could not read")
		}
	})
	t.Run("unknown version", func(t *testing.T) {
		w := newWorld(t, report(sessions(1)))
		w.writeGolden(t, "TestLogout.golden", "leakgate golden v99\n")
		if ft, ok := w.assert(); ok || !strings.Contains(ft.errorText(), "unknown golden format v99") {
			t.Errorf("%v %s", ok, ft.errorText())
		}
	})
	t.Run("not settled", func(t *testing.T) {
		// Everything that is written must have been seen twice.
		w := newWorld(t, report(sessions(9)), report(sessions(3)), report(sessions(3)))
		if _, ok := w.assert(); !ok || w.snapshots != 3 || !strings.Contains(w.goldenText(t, "TestLogout.golden"), "        3           288 ") {
			t.Errorf("%v after %d snapshots:\n%s", ok, w.snapshots, w.goldenText(t, "TestLogout.golden"))
		}
	})
	t.Run("read-only", func(t *testing.T) {
		w := newWorld(t, report(sessions(1)))
		w.env.Artifacts = t.TempDir()
		if runtime.GOOS == "windows" {
			t.Skip("symbolic links need a privilege")
		}
		// Nobody can make folders there, not even root.
		if err := os.Symlink("/proc/leakgate/none", filepath.Join(w.env.Dir, "testdata")); err != nil {
			t.Fatal(err)
		}
		ft, ok := w.assert()
		kept := filepath.Join(w.env.Artifacts, "example.com/app/TestLogout/1/golden.txt")
		if ok || !strings.HasPrefix(ft.errorText(), "leakcheck: cannot write the golden file: ") || !strings.HasSuffix(ft.errorText(), "what it would be is in "+kept) {
			t.Errorf("%v %s", ok, ft.errorText())
		}
		if data, err := os.ReadFile(kept); err != nil || !strings.Contains(string(data), "example.com/app.sessions[*]") {
			t.Errorf("%v in %s\n%s", err, kept, ft.errorText())
		}
	})
	t.Run("no name", func(t *testing.T) {
		w := newWorld(t, report(sessions(1)))
		ft := &fakeT{}
		if w.AssertRetained(ft, environ.Site{}, newRequest(nil)) || !strings.Contains(ft.errorText(), "give one with Golden") {
			t.Error(ft.errorText())
		}
	})
}

func TestGoldenNames(t *testing.T) {
	w := newWorld(t, report(sessions(1)))
	for range 2 { // as with -count=2
		ft := &fakeT{name: "TestLogout/two users"}
		for _, opts := range [][]Option{nil, {Golden("shared/registry")}, nil} {
			if !w.AssertRetained(ft, environ.Site{}, newRequest(opts)) {
				t.Fatal(ft.errorText())
			}
		}
		ft.end()
	}
	var found []string
	root := filepath.Join(w.env.Dir, "testdata", "leakcheck")
	if err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(root, path)
			found = append(found, filepath.ToSlash(rel))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(found); got != "[TestLogout/two_users.golden TestLogout/two_users~2.golden shared/registry.golden]" {
		t.Error(got)
	}
}

func TestGoldenScope(t *testing.T) {
	frameOf := func(fn, goroutine, creator string, test bool) *refscan.Node {
		return frame(node(fn+".v", "*example.com/app.T", 1, 48), refscan.RootInfo{Func: fn, Goroutine: goroutine, CreatedBy: creator, Test: test})
	}
	r := report(
		sessions(2),
		global(node("example.com/app_test.fixture", "*example.com/app.T", 1, 48), "", 0),
		global(node("other.org/lib.data", "*other.org/lib.T", 1, 48), "", 0),
		frameOf("example.com/app.(*pool).run", "example.com/app.(*pool).run", "example.com/app.New", false),
		frameOf("other.org/lib.worker", "other.org/lib.worker", "example.com/app.New", false),
		frameOf("other.org/lib.idle", "other.org/lib.idle", "other.org/lib.New", false),
		frameOf("example.com/app.TestLogout", "testing.tRunner", "testing.(*T).Run", true),
	)
	paths := func(text string) string {
		var out []string
		for _, l := range strings.Split(text, "\n") {
			if f := strings.Fields(l); len(f) >= 4 && f[0] != "#" && f[0] != "leakgate" {
				out = append(out, strings.TrimPrefix(f[2], "example.com/"))
			}
		}
		return strings.Join(out, " ")
	}
	for _, tt := range []struct {
		name string
		opts []Option
		want string
	}{
		{"module", nil, "app.(*pool).run.v app.sessions app.sessions[*] app.sessions[*].buf app.sessions[*].id app_test.fixture other.org/lib.worker.v"},
		{"explicit", []Option{Scope("other.org/lib")}, "other.org/lib.data other.org/lib.idle.v other.org/lib.worker.v"},
		{"ignore", []Option{Ignore("app.sessions[*]", "x"), Ignore("lib.worker", "y"), Ignore("app_test.*", "z")}, "app.(*pool).run.v app.sessions app.sessions[*]"},
	} {
		w := newWorld(t, r)
		w.names.Roots = append(w.names.Roots, "other.org/lib.data")
		if ft, ok := w.assert(append(tt.opts, Golden(tt.name))...); !ok {
			t.Errorf("%s: %s", tt.name, ft.errorText())
		}
		if got := paths(w.goldenText(t, tt.name+".golden")); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestGoldenSince(t *testing.T) {
	w := newWorld(t, report(sessions(5)), report(sessions(7)))
	base := &Baseline{*w.TakeBaseline(&fakeT{}, nil)}
	if ft, ok := w.assert(Since(base)); !ok {
		t.Fatal(ft.errorText())
	}
	if text := w.goldenText(t, "TestLogout.golden"); !strings.Contains(text, "        2           192  example.com/app.sessions[*] ") || strings.Contains(text, "map[") {
		t.Error(text)
	}
}

// Numbers behind pointers lie in blocks that they share: that they count with their own bytes in
// one run and with those of a block in the next is no difference.
func TestGoldenOfSmallValues(t *testing.T) {
	numbers := func(bytes int64) *refscan.Report {
		return report(global(node("example.com/app.counts", "*uint32", 3, bytes), "", 0))
	}
	w := newWorld(t, numbers(12))
	for _, bytes := range []int64{12, 48, 24, 12} {
		w.reports = []*refscan.Report{numbers(bytes)}
		ft, ok := w.assert()
		if !ok {
			t.Errorf("%d bytes: %s", bytes, ft.errorText())
		}
	}
}

// With LEAKGATE_GOLDENS a directory stands for the packages' folders, in CI too.
func TestGoldensElsewhere(t *testing.T) {
	w := newWorld(t, report(sessions(100)))
	w.env.Ci, w.env.Goldens = true, filepath.Join(t.TempDir(), "base")
	ft, ok := w.assert()
	if !ok || !ft.logged("created base/example.com/app/TestLogout.golden") {
		t.Errorf("%v %s %q", ok, ft.errorText(), ft.logs)
	}
	text, err := os.ReadFile(filepath.Join(w.env.Goldens, "example.com", "app", "TestLogout.golden"))
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, "golden", string(text), sessionsGolden)
	if _, err := os.Stat(filepath.Join(w.env.Dir, "testdata")); err == nil {
		t.Error("there is a golden file in the package's folder")
	}

	w.reports = []*refscan.Report{report(sessions(101))}
	ft, ok = w.assert()
	message := ft.errorText()
	if ok || !strings.Contains(message, "more is retained than the base retains (2 paths): base/example.com/app/TestLogout.golden") || strings.Contains(message, "to accept it") {
		t.Errorf("%v %s", ok, message)
	}
}
