package leakcheck

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
)

func TestEndToEndGoroutines(t *testing.T) {
	require.Slow(t)
	m := newScratchModule(t)
	file := filepath.Join(m.dir, "workers", "testdata", "leakcheck", "TestGolden.golden")
	golden := func() string {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	out, ok := m.run(t, "workers", nil, "go", "test", "-count=1", "-v", ".")
	if !ok {
		t.Fatal("\n" + out)
	}
	for _, part := range []string{
		"3 goroutines started in example.com/app/workers.(*Pool).work, created by example.com/app/workers.New (workers.go:17)\n",
		"chan receive in example.com/app/workers.(*Pool).handle (handle.go:7); stack ",
		"found 2 goroutines blocked for ever, with ",
		"chan send in example.com/app/workers.Query.func1 (workers.go:36): no variable of the program and no goroutine that can still run reaches the channel\n",
		"objects, 208.2 KiB of heap\n",
		"found 2 goroutines beyond the baseline: 1 more than allowed\n",
		"created testdata/leakcheck/TestGolden.golden",
		"not so at first: Goroutines(\"workers.New\").None(): found 3 goroutines",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("no %q", part)
		}
	}
	if t.Failed() {
		t.Log("\n" + out)
	}

	// The file is the same in other builds.
	created := golden()
	for _, flag := range []string{"-race", "-gcflags=-l", "-cover"} {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		out, ok := m.run(t, "workers", nil, "go", "test", "-count=1", "-run=^(TestLeaked|TestGolden)$", flag, ".")
		if now := golden(); !ok || goroutineLines(now) != goroutineLines(created) {
			t.Errorf("%s: %s\n%s\n%s", flag, out, created, now)
		}
	}
	if lines := goroutineLines(created); strings.Count(lines, "\n") != 2 {
		t.Errorf("lines on goroutines:\n%s", lines)
	}

	// An array of 64 KB moves into a frame.
	out, ok = m.run(t, "workers", []string{"CI=1"}, "go", "test", "-count=1", "-tags=regression", "-run=^(TestLeaked|TestGolden)$", ".")
	for _, part := range []string{
		"+        3   196608~100%  stack:example.com/app/workers.(*Pool).handle      frame\n",
		"the largest frame is that of example.com/app/workers.(*Pool).handle (handle_regression.go:8): 64.0 KiB in each of 3 goroutines\n",
	} {
		if ok || !strings.Contains(out, part) {
			t.Errorf("%v, without %q:\n%s", ok, part, out)
		}
	}
	if regexp.MustCompile(`0x[0-9a-f]{6,}`).MatchString(out) {
		t.Errorf("an address is shown:\n%s", out)
	}
}

// goroutineLines returns the lines of a golden file that are about goroutines and stacks.
func goroutineLines(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if strings.Contains(line, " "+goroutine.GoroutineLine) || strings.Contains(line, " "+goroutine.StackLine) {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
