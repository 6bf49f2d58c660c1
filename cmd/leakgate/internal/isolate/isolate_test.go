package isolate

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A test is run by its own pattern, with the subtests that -run selects.
func TestPatternFor(t *testing.T) {
	for _, c := range []struct{ run, test, want string }{
		{"", "TestA", "^TestA$"},
		{"A", "TestA", "^TestA$"},
		{"B", "TestA", ""},
		{"^TestA$", "TestAB", ""},
		{"A/x", "TestA", "^TestA$/x"},
		{"A/x/y z", "TestA", "^TestA$/x/y z"},
		{"A/x|B", "TestA", "^TestA$/x"},
		{"A/x|B", "TestB", "^TestB$"},
		{"A/x|A/y", "TestA", "^TestA$/x|^TestA$/y"},
		{"A/x|Test", "TestA", "^TestA$"},
		{"(A|B)/(x/y|z)[/]", "TestB", "^TestB$/(x/y|z)[/]"},
		{`A\|B`, "TestA", ""},
		{"(", "TestA", "("},
	} {
		require.Equal(t, c.want, patternFor(c.run, c.test), "-run %s of %s", c.run, c.test)
	}
}

// A process gets the arguments of the binary, except those that are about all tests.
func TestFlags(t *testing.T) {
	f := parseFlags([]string{"-test.paniconexit0", "-test.timeout=10m0s", "-test.count=3", "-test.run=A", "-test.v=test2json", "-test.failfast=true", "-mine=1", "x", "-test.count=5"})
	require.Equal(t, flags{
		run: "A", count: 3, timeout: 10 * time.Minute, failfast: true,
		rest: []string{"-test.paniconexit0", "-test.v=test2json", "-test.failfast=true", "-mine=1", "x", "-test.count=5"},
	}, f)
	require.Equal(t, []string{"-test.run=^TestA$", "-test.count=1", "-test.timeout=1.5s", "-test.paniconexit0", "-test.v=test2json", "-test.failfast=true", "-mine=1", "x", "-test.count=5"}, f.argsFor("^TestA$", 1500*time.Millisecond))
	require.NotContains(t, f.listing(), "-test.v=test2json")
}

// A process' output is complete except for its final result, and its last line has an end.
func TestFilter(t *testing.T) {
	long := strings.Repeat("x", 3*maxLine)
	for _, c := range []struct {
		in, want   string
		ran, ended bool
	}{
		{"\x16=== RUN   TestA\nhello\n\x16--- PASS: TestA (0.00s)\n\x16PASS\n", "\x16=== RUN   TestA\nhello\n\x16--- PASS: TestA (0.00s)\n", true, true},
		{"\x16=== RUN   TestA\nno end\x16--- FAIL: TestA (0.00s)\n    x_test.go:1: \n\x16FAIL\n", "\x16=== RUN   TestA\nno end\x16--- FAIL: TestA (0.00s)\n    x_test.go:1: \n", true, true},
		{"\x16=== RUN   TestA\nPASS\n\x16=== RUN   TestA/sub\n\x16--- PASS: TestA/sub (0.00s)\n" + long, "\x16=== RUN   TestA\nPASS\n\x16=== RUN   TestA/sub\n\x16--- PASS: TestA/sub (0.00s)\n" + long + "\n", true, false},
		{"testing: warning: no tests to run\n\x16PASS\n", "", false, false},
	} {
		var out bytes.Buffer
		f := &filter{out: &out, test: "TestA"}
		require.NoError(t, f.copy(strings.NewReader(c.in)))
		require.True(t, c.want == out.String(), "%.300q", out.String())
		require.Equal(t, []bool{c.ran, c.ended}, []bool{f.ran, f.ended})
	}
}

// The go command splits the flag into words again.
func TestFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	f, err := NewFolder()
	require.NoError(t, err)
	flag, err := f.Flag("/home/a b/leakgate", 3)
	require.NoError(t, err)
	require.Equal(t, "'/home/a b/leakgate' -isolate-tests "+f.Dir+" 3", flag)
	_, err = f.Flag(`/'"`, 1)
	require.Error(t, err)
	require.True(t, Asked([]string{name, f.Dir, "3", "/tmp/x.test", "-test.v"}))
	require.False(t, Asked([]string{"run", "-isolate", ".", "x"}))

	r := newRun(f.Dir, 1, "x.test", nil)
	release := r.slot()
	r.stopped = true // the second process has no slot, and does not wait for ever
	r.slot()()
	release()
	r.count()
	r.count()
	require.Equal(t, 2, f.Processes())
	f.Close()
	require.NoDirExists(t, f.Dir)
}

// After a process that ended by a signal of the whole group no other is started, although this
// process may be told of the signal later.
func TestSignalOfTheGroup(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such signals")
	}
	r := newRun(t.TempDir(), 1, "", nil)
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	defer close(done)
	go r.passOn(signals, done)

	ended := exec.Command("true")
	require.NoError(t, ended.Run())
	r.awaitSignal(ended.ProcessState)
	require.False(t, r.isStopped())

	ended = exec.Command("sh", "-c", "kill -INT $$")
	require.Error(t, ended.Run())
	time.AfterFunc(10*time.Millisecond, func() { signals <- os.Interrupt })
	r.awaitSignal(ended.ProcessState)
	require.True(t, r.isStopped())
}
