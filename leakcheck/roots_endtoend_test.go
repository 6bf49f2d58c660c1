package leakcheck

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// TestEndToEndRoots checks that the name of each root that a report shows of a leak can be a bound:
// it is red where it leaks, and no mistake where that is mended.
func TestEndToEndRoots(t *testing.T) {
	require.Slow(t)
	m := newScratchModule(t)
	file := filepath.Join(t.TempDir(), "names")
	run := func(leak string, names []string) (roots []string, results map[string]string) {
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(names, "\n")), 0o644))
		out, ok := m.run(t, "roots", []string{"ROOTS_LEAK=" + leak, "NAMES=" + file}, "go", "test", "-count=1", "-v", ".")
		require.True(t, ok, out)
		results = make(map[string]string)
		for line := range strings.Lines(out) {
			kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			first, name, _ := strings.Cut(rest, " ")
			switch {
			case kind == "RESULT":
				results[name] = first
			case kind == "ROOT" && first != "0":
				roots = append(roots, name)
			}
		}
		return roots, results
	}
	roots, _ := run("1", nil)
	for _, kind := range []string{
		"example.com/app/roots.global", "example.com/app/roots.hold.buf", "example.com/app/roots.mapping.$temporary",
		"example.com/app/roots.deferring.$defer", "example.com/app/roots.init.func1.x", "example.com/app/roots.Leak.func1.inner",
		"example.com/app/roots.generic[go.shape.*uint8].$temporary", "goroutine example.com/app/roots.Leak.gowrap2",
		"timer(context.WithTimeout)", "timer(example.com/app/roots.fire)", "timer(example.com/app/roots.(*conn).expire)",
		"timer(example.com/app/roots.Leak.func2)", "finalizer(*example.com/app/roots.Box[example.com/app/roots.Box[example.com/app/roots.ring]])",
		"cleanup(*example.com/app/roots.Thing)", "cleanup([]*example.com/app/roots.Thing)", "cleanup(?)",
		"runtime.(timers)",
	} {
		if !slices.Contains(roots, kind) {
			t.Errorf("no root %s in\n%s", kind, strings.Join(roots, "\n"))
		}
	}
	// those of the program with the package's name alone, too
	var own []string
	for _, name := range roots {
		if short := strings.ReplaceAll(name, "example.com/app/", ""); short != name && !strings.Contains(name, "TestRoots") && short != "roots.stop" {
			own = append(own, name)
			if strings.Count(name, "/app/") == 1 {
				own = append(own, short)
			}
		}
	}
	own = append(own, "timer(context.WithTimeout)")
	_, red := run("1", own)
	_, green := run("", append(own, "timer(time.Timer)", "weak(*roots.Thing)", "finalizer queue", "cleanup queue", "runtime.(objects of the scheduler)", "C.environ"))
	for _, name := range own {
		if red[name] != "red" || green[name] != "green" {
			t.Errorf("%s: %q while it leaks, %q when that is mended", name, red[name], green[name])
		}
	}
	roots = slices.DeleteFunc(roots, func(name string) bool { return !strings.ContainsAny(name, "($ ") })
	_, others := run("", roots)
	for name, result := range others {
		if result == "mistake" {
			t.Errorf("%s: a mistake", name)
		}
	}
	_, wrong := run("", []string{"timer(roots.fires)", "goroutine roots.Leek", "finalizer(*roots.Rink)", "weak(*roots.Think)", "roots.hold.$deferred", "C.no_such", "queue", "runtime.(timer)"})
	for name, result := range wrong {
		if result != "mistake" {
			t.Errorf("%s: %s", name, result)
		}
	}
	require.Equal(t, 8, len(wrong))
}
