package present

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
)

// play shows the events and returns what is on the screen.
func play(verbose bool, events ...gotest.Event) string {
	var b strings.Builder
	p := NewProgress(NewScreen(&b, nil), 1, verbose)
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

// mixed is the streams of two packages, one of which fails, as go1.26 mixes them.
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

func TestScreenKeepsTheStatusLineLast(t *testing.T) {
	var b, other strings.Builder
	s := NewScreen(&b, func() int { return 8 })
	s.SetStatus("status is long")
	s.SetStatus("status is long")
	_, err := s.Write([]byte("text\n"))
	require.NoError(t, err)
	s.SetStatus("more")
	_, err = s.Beside(&other).Write([]byte("beside\n"))
	require.NoError(t, err)
	s.SetStatus("last")
	s.SetStatus("")
	require.Equal(t, "status "+clearLine+"text\nmore"+clearLine+"last"+clearLine, b.String())
	require.Equal(t, "beside\n", other.String())
}

func TestScreenWithoutATerminalHasNoStatusLine(t *testing.T) {
	var b strings.Builder
	s := NewScreen(&b, nil)
	s.SetStatus("status")
	require.False(t, s.Live())
	require.Empty(t, b.String())
}
