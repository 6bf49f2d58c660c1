package present

import (
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
)

// play shows the events and returns what is on the screen.
func play(verbose bool, events ...gotest.Event) string {
	var b strings.Builder
	p := NewProgress(NewScreen(&b, nil), 1, verbose, func() int { return 0 })
	for _, ev := range events {
		p.Event(&ev)
	}
	p.Close()
	return b.String()
}

func out(pkg, test, text string) gotest.Event {
	return gotest.Event{Action: "output", Package: pkg, Test: test, Output: text}
}

func end(action, pkg, test string) gotest.Event {
	return gotest.Event{Action: action, Package: pkg, Test: test}
}

// mixed has the events of two packages, one of which fails, in the order in which go1.26 mixes
// them.
var mixed = []gotest.Event{
	out("p", "TestA", "=== RUN   TestA\n"), out("q", "TestQ", "=== RUN   TestQ\n"),
	out("p", "TestA", "    a_test.go:1: about a\n"), out("q", "TestQ", "quiet\n"),
	out("p", "TestA", "--- FAIL: TestA (0.00s)\n"), end("fail", "p", "TestA"),
	out("q", "TestQ", "--- PASS: TestQ (0.00s)\n"), end("pass", "q", "TestQ"),
	out("q", "", "from TestMain\n"), out("q", "", "PASS\n"), out("q", "", "ok  \tq\t0.003s\n"), end("pass", "q", ""),
	out("p", "", "from TestMain\n"), out("p", "", "FAIL\n"), out("p", "", "FAIL\tp\t0.003s\n"), end("fail", "p", ""),
	out("r", "", "?   \tr\t[no test files]\n"), end("skip", "r", ""),
}

func TestProgressShowsFailedTestsAndPackages(t *testing.T) {
	require.Equal(t, `--- FAIL: TestA (0.00s)
    a_test.go:1: about a
ok  	q	0.003s
from TestMain
FAIL	p	0.003s
`, play(false, mixed...))
}

func TestProgressVerboseShowsAll(t *testing.T) {
	require.Equal(t, `--- FAIL: TestA (0.00s)
    a_test.go:1: about a
--- PASS: TestQ (0.00s)
quiet
from TestMain
ok  	q	0.003s
from TestMain
FAIL	p	0.003s
`, play(true, mixed...))
}

func TestProgressShowsTestsThatDidNotEnd(t *testing.T) {
	require.Equal(t, "last words\nFAIL\tp\t0.1s\n",
		play(false, out("p", "TestA", "last words\n"), out("p", "", "FAIL\tp\t0.1s\n"), end("fail", "p", "")))
	require.Equal(t, "last words\n", play(false, out("p", "TestA", "last words\n")), "nor did the package")
}

func TestProgressShowsBuildOutputOnce(t *testing.T) {
	build := func(id, text string) gotest.Event {
		return gotest.Event{Action: "build-output", ImportPath: id, Output: text}
	}
	failed := func(id string) gotest.Event { return gotest.Event{Action: "build-fail", ImportPath: id} }
	require.Equal(t, "# p\na.go:1: bad\n# q\nb.go:1: bad\n# w\nwarning\n", play(false,
		build("p", "# p\n"), build("p [p.test]", "# p [p.test]\n"), build("w", "# w\n"), build("w", "warning\n"),
		build("p", "a.go:1: bad\n"), build("p [p.test]", "a.go:1: bad\n"), failed("p"), failed("p [p.test]"),
		build("q", "# q\n"), build("q", "b.go:1: bad\n"), failed("q")))
}

// lockedBuffer is a buffer that one goroutine writes and another reads.
type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestScreenShowsAnAreaBelowText(t *testing.T) {
	var b lockedBuffer
	s := NewScreen(&b, func() int { return 60 })
	hide := s.Show(4, func() string { return "the text" }, func() []string { return []string{"a line", strings.Repeat("x", 100)} })
	s.Advance(2)
	_, err := s.Write([]byte("first\nsec"))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		text := b.String()
		return strings.Contains(text, "first\n") && strings.Contains(text, "the text") && strings.Contains(text, "=>")
	}, 10*time.Second, time.Millisecond)
	_, err = s.Write([]byte("ond\nlast"))
	require.NoError(t, err)
	hide()
	_, err = s.Write([]byte(" words\n"))
	require.NoError(t, err)
	text := b.String()
	require.Contains(t, text, "a line\n")
	require.NotContains(t, text, strings.Repeat("x", 60), "lines are cut")
	require.Less(t, strings.Index(text, "first\n"), strings.Index(text, "second\n"), "no line is torn")
	require.True(t, strings.HasSuffix(text, "last words\n"), "%q", text)
}

func TestScreenWithoutATerminalHasNoArea(t *testing.T) {
	var b strings.Builder
	s := NewScreen(&b, nil)
	require.False(t, s.Live())
	hide := s.Show(1, nil, nil)
	s.Advance(1)
	hide()
	require.Empty(t, b.String())
	_, err := s.Write([]byte("no line"))
	require.NoError(t, err)
	require.Equal(t, "no line", b.String(), "as it comes")
}

func TestProgressDetails(t *testing.T) {
	p := NewProgress(NewScreen(io.Discard, nil), 2, false, func() int { return 0 })
	event := func(action, pkg, test string, elapsed float64) {
		p.Event(&gotest.Event{Action: action, Package: pkg, Test: test, Elapsed: elapsed})
	}
	require.Equal(t, []string{"building"}, p.details())
	require.Equal(t, "packages 0/2  0s", p.status(0))
	p.Step("p", "repeating 3 functions", time.Now().Add(90*time.Second+time.Millisecond))
	require.Equal(t, []string{"repeating 3 functions 0s, 90s left"}, p.details())
	p.Step("p", "", time.Time{})
	event("run", "p", "TestA", 0)
	event("run", "p.q", "TestA", 0)
	event("pass", "p", "TestA", 1.25)
	event("run", "p", "TestB", 0)
	require.Equal(t, "packages 0/2  tests 3  assertions 7  failed 0  0s", p.status(7))
	require.Equal(t, []string{"slowest: p.TestA 1.2s", "running: p.q.TestA 0s"}, p.details())
	event("fail", "p.q", "TestA", 0.5)
	event("fail", "p", "", 2)
	require.Equal(t, []string{"slowest: p.TestA 1.2s"}, p.details(), "what did not end ended with its package")
	require.Equal(t, "packages 1/2  tests 3  assertions 7  failed 1  0s", p.status(7))
}

// Without a terminal, a line at every interval says how far the run is.
func TestProgressWithoutATerminal(t *testing.T) {
	p := NewProgress(NewScreen(io.Discard, nil), 2, false, func() int { return 3 })
	p.Event(&gotest.Event{Action: "run", Package: "p", Test: "TestA"})
	var log lockedBuffer
	stop := p.Animate(&log, time.Millisecond)
	require.Eventually(t, func() bool { return strings.Count(log.String(), "\n") >= 2 }, time.Minute, time.Millisecond)
	stop()
	text := log.String()
	require.Regexp(t, `^leakgate: packages 0/2  tests 1  assertions 3  failed 0  \d+s; running: p\.TestA \d+s\n`, text)
	time.Sleep(5 * time.Millisecond)
	require.Equal(t, text, log.String(), "nothing after stop")
}
