package refscan_test

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// cargo is the type that the constructs keep alive. A test of a construct lists where every cargo
// of the process must be found, so that none may be missing, charged twice or charged elsewhere.
type cargo struct {
	id   int
	data []byte
}

// newCargo makes a cargo on the heap: inlined, it might stay on the stack.
//
//go:noinline
func newCargo() *cargo { return &cargo{data: make([]byte, 100)} }

// unoptimised reports whether the tests were built with -gcflags=-N.
func unoptimised() bool {
	info, _ := debug.ReadBuildInfo()
	for _, s := range info.Settings {
		if s.Key == "-gcflags" && strings.Contains(s.Value, "-N") {
			return true
		}
	}
	return false
}

// maxMissed bounds what a report may miss, in bytes per processor: freezing drops the caches of the
// processors after the last collection has found them alive. The largest cache has 128 sudogs of
// 112 bytes; it is full after many goroutines have waited (go1.26 runtime/proc.go, (*p).destroy).
const maxMissed = 16 << 10

// sound fails the test if the audit of a report is not within its limits.
func sound(t testing.TB, r *refscan.Report) {
	t.Helper()
	tot, unused := r.Totals, unusedData(r.Roots)
	record(t, tot, unused)
	require.Zero(t, tot.ExtraBytes, "reached but not alive: %+v", tot)
	require.LessOrEqual(t, tot.MissedBytes, int64(maxMissed*runtime.GOMAXPROCS(0)), "alive but not reached: %+v of the types %s", tot, missedTypes(r))
	require.GreaterOrEqual(t, float64(tot.TypedBytes), 0.99*float64(tot.AttributedBytes-unused), "%+v", tot)
	require.Empty(t, r.Warnings)
	pathsArePossible(t, r)
}

// missedTypes lists the types of what a scan missed, as far as the allocator recorded them.
func missedTypes(r *refscan.Report) string {
	var types []string
	for _, n := range r.Missed {
		types = append(types, fmt.Sprintf("%d %q (%d bytes)", n.Objects, n.Type, n.Bytes))
	}
	return strings.Join(types, ", ")
}

// unusedData returns the bytes without a type that no variable of the program leads to. An
// initialiser made them for an unused variable: the linker dropped the variable and its name, but
// not its contents (Go 1.27: a map of 5 KB of golang.org/x/net/http2/hpack).
func unusedData(roots []*refscan.Node) (bytes int64) {
	for _, n := range roots {
		if n.Name == "runtime.(unnamed data)" {
			bytes += n.UntypedBytes
		}
	}
	return bytes
}

// cargoes returns how many cargoes each folded path of a report holds, without the test package's
// own path. The data of the cargoes must be typed, and as many.
func cargoes(t testing.TB, r *refscan.Report) map[string]int64 {
	t.Helper()
	found := make(map[string]int64)
	var walk func(path string, n *refscan.Node)
	walk = func(path string, n *refscan.Node) {
		path = symbol.JoinPath(path, n.Name)
		if n.Type == "*"+pkg+"cargo" && n.Objects > 0 {
			found[path] += n.Objects
			require.Zero(t, n.UntypedObjects, "%s: untyped objects behind a cargo", path)
			for _, c := range n.Children {
				require.Equal(t, "data", c.Name, path)
				require.Equal(t, "[]uint8", c.Type, path)
				require.LessOrEqual(t, c.Objects, n.Objects, path)
			}
		}
		for _, c := range n.Children {
			walk(path, c)
		}
	}
	for _, n := range r.Fold().Roots {
		n.Name = strings.TrimPrefix(n.Name, pkg)
		walk("", n)
	}
	return found
}

// holds scans the process and requires a sound report with exactly these cargoes.
func holds(t testing.TB, want map[string]int64, opts ...refscan.CaptureOption) *refscan.Report {
	t.Helper()
	s, err := refscan.Capture(append(opts, refscan.WithLog(t.Logf))...)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	r, err := s.Scan()
	require.NoError(t, err)
	got := cargoes(t, r)
	if !assert.ObjectsAreEqual(want, got) {
		untyped(t, "", r.Fold().Roots)
	}
	require.Equal(t, want, got)
	sound(t, r)
	return r
}

// untyped logs where a report has objects without a type.
func untyped(t testing.TB, parent string, nodes []*refscan.Node) {
	for _, n := range nodes {
		path := symbol.JoinPath(parent, n.Name)
		if n.UntypedObjects > 0 {
			t.Logf("%s (%s): %d of %d objects, %d B untyped", path, n.Type, n.UntypedObjects, n.Objects, n.UntypedBytes)
		}
		untyped(t, path, n.Children)
	}
}
