package refscan_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// own returns the report's roots of this package as text. It leaves out the frames of the asserting
// goroutine, which change from line to line, and the caches of type assertions, to which the
// runtime adds at random (go1.26 runtime/iface.go, typeAssert).
func own(t *testing.T, r *refscan.Report) string {
	t.Helper()
	var roots []*refscan.Node
	for _, n := range r.Fold().Roots {
		if strings.HasPrefix(n.Name, pkg) && n.Root.Kind == refscan.RootGlobal && !strings.Contains(n.Name, "..typeAssert.") &&
			!strings.Contains(n.Name, "..interfaceSwitch.") {
			roots = append(roots, n)
		}
	}
	require.NotEmpty(t, roots)
	data, err := json.MarshalIndent(roots, "", " ")
	require.NoError(t, err)
	return string(data)
}

// Equal heaps give equal reports: in each scan, and whatever the number of processors.
func TestReportsAreEqual(t *testing.T) {
	fillCorpus()
	want := own(t, scan(t))
	for _, procs := range []int{1, 2, 8} {
		old := runtime.GOMAXPROCS(procs)
		got := own(t, scan(t))
		require.Equal(t, procs, runtime.GOMAXPROCS(old), "a snapshot leaves GOMAXPROCS as it was")
		require.Equal(t, want, got)
	}
}

// The same content built anew, with other addresses and hash seeds, gives the same paths, types and
// counts. Bytes of maps may differ, since tables split by hash.
func TestReportsOfRebuiltHeapsAreEqual(t *testing.T) {
	long(t)
	require.Slow(t)
	objects := func() map[string]int64 {
		fillCorpus()
		sums := make(map[string]int64)
		var add func(path string, n *refscan.Node)
		add = func(path string, n *refscan.Node) {
			path = symbol.JoinPath(path, n.Name)
			sums[path+" "+n.Type] += n.Objects
			for _, c := range n.Children {
				add(path, c)
			}
		}
		for _, n := range scan(t).Fold().Roots {
			if strings.HasPrefix(n.Name, pkg+"g") && n.Root.Kind == refscan.RootGlobal {
				add("", n)
			}
		}
		return sums
	}
	want := objects()
	require.NotEmpty(t, want)
	for range 3 {
		got := objects()
		for path, n := range want {
			require.Equal(t, n, got[path], path)
		}
		require.Len(t, got, len(want))
	}
}
