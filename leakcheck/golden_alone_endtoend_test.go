package leakcheck

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// goldenApart are tests with golden files, beside tests that leave more at the same paths.
const goldenApart = `package app

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/leakgate/leakgate/leakcheck"
)

var (
	hits  = map[string]*int{}
	busy  []*int
	ready bool
	more  = flag.Bool("more", false, "")
)

func hit(p string) { hits[p] = new(int) }

func TestMain(m *testing.M) {
	flag.Parse()
	hit("/main")
	code := m.Run()
	os.Exit(code)
}

func TestEarlier(t *testing.T) { hit("/a"); hit("/b"); ready = true }

func TestOne(t *testing.T) {
	hit("/c")
	if *more {
		hit("/d")
	}
	leakcheck.AssertRetained(t)
}

func TestTwo(t *testing.T) {
	hit("/e")
	hit("/f")
	leakcheck.AssertRetained(t, leakcheck.Golden("two"))
	hit("/g")
	leakcheck.AssertRetained(t)
}

func TestSub(t *testing.T) {
	for _, name := range []string{"one of them", "one of them", "x.y/z"} {
		t.Run(name, func(t *testing.T) {
			hit(t.Name())
			leakcheck.AssertRetained(t)
		})
	}
}

func FuzzSeed(f *testing.F) {
	f.Add("seed")
	f.Fuzz(func(t *testing.T, s string) {
		hit(s)
		leakcheck.AssertRetained(t)
	})
}

func TestBusy(t *testing.T) {
	t.Parallel()
	for range 300 {
		busy = append(busy, new(int))
		time.Sleep(time.Millisecond)
	}
}

func TestParallel(t *testing.T) {
	t.Parallel()
	hit("/p")
	leakcheck.AssertRetained(t)
}

func TestNeedsEarlier(t *testing.T) {
	if !ready {
		t.Skip("TestEarlier makes it ready")
	}
	leakcheck.AssertRetained(t)
}
`

// TestEndToEndGoldenAlone checks that a golden file says what its test leaves alone: however it is
// made, it holds in any selection, order and number of tests, and a test that leaves more than its
// file allows fails in each of them.
func TestEndToEndGoldenAlone(t *testing.T) {
	require.Slow(t)
	m := newScratchModule(t)
	m.empty(t)
	m.write(t, "app_test.go", goldenApart)
	if out, ok := m.run(t, ".", nil, "go", "test", "-c", "-o", "app.test", "."); !ok {
		t.Fatal(out)
	}
	test := func(want bool, args ...string) string {
		t.Helper()
		out, ok := m.run(t, ".", nil, append([]string{"./app.test", "-test.v"}, args...)...)
		if ok != want {
			t.Errorf("%q: passed is %v:\n%s", args, ok, out)
		}
		return out
	}
	files := func() map[string]string {
		all := make(map[string]string)
		require.NoError(t, filepath.WalkDir(filepath.Join(m.dir, "testdata"), func(name string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() && !strings.Contains(name, "NeedsEarlier") {
				data, err := os.ReadFile(name)
				all[name] = string(data)
				return err
			}
			return err
		}))
		return all
	}
	out := test(true)
	made := files()
	require.Equal(t, 8, len(made))
	for name, text := range made {
		if strings.Contains(text, "busy") || !strings.Contains(text, "hits[*]") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	for _, part := range []string{
		"this test could not be judged in a process of its own: it ended there without this assertion", "created testdata/leakcheck/TestNeedsEarlier.golden",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("no %q in\n%s", part, out)
		}
	}
	// Made one by one, or in another order, the files are the same.
	for _, run := range [][]string{{"-test.shuffle=1", "-test.count=2", "-test.skip=Needs"}, {"-test.run=^TestOne$|TestTwo|TestSub|Fuzz|Parallel"}} {
		require.NoError(t, os.RemoveAll(filepath.Join(m.dir, "testdata")))
		test(true, run...)
		require.Equal(t, made, files())
	}
	for _, run := range [][]string{
		{"-test.count=2", "-test.skip=Needs"},
		{"-test.shuffle=2", "-test.skip=Needs"},
		{"-test.cpu=1,2", "-test.skip=Needs"},
		{"-test.run=TestOne"},
		{"-test.run=^TestOne$"},
		{"-test.run=TestSub/x"},
		{"-test.run=Sub/^one_of_them#01$"},
		{"-test.skip=TestEarlier", "-test.parallel=1"},
		{"-test.run", "TestTwo", "-test.count", "1"},
	} {
		test(true, run...)
	}
	for _, run := range [][]string{{"-test.skip=Needs"}, {"-test.run=TestOne"}, {"-test.run=^TestOne$"}, {"-test.count=2", "-test.run=Earlier|One"}} {
		out := test(false, append(run, "-more")...)
		if !strings.Contains(out, "-        2             0  example.com/app.hits[*] ") || !strings.Contains(out, "+        3             0  example.com/app.hits[*] ") {
			t.Errorf("%q: what the test leaves alone is not compared:\n%s", run, out)
		}
	}
	if files := files(); len(files) != len(made) {
		t.Error("files were left", files)
	}
	// The command of the message accepts it.
	test(true, "-test.run=^TestOne$", "-leakcheck.update", "-more")
	test(true, "-more", "-test.skip=Needs")
	// A test that fails alone for another reason is judged with what others left.
	m.write(t, "testdata/leakcheck/TestNeedsEarlier.golden", "leakgate golden v1\n")
	if out := test(false, "-test.run=Earlier"); !strings.Contains(out, "what other tests leave may count: this test could not be judged in a process of its own") {
		t.Error(out)
	}
}
