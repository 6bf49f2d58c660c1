package scanreport

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

const mib = 1 << 20

// spikeOf returns a spike of 40 MiB over 10 MiB, whose snapshot has app.rows beside app.cache.
func spikeOf(rows int64) *Spike {
	base, scan := scanAt(100, global("app.cache", "[]uint8", 1, 10*mib)), scanAt(101, global("app.cache", "[]uint8", 1, 10*mib))
	n := node("[0]", "[]uint8", 2, rows)
	n.Allocations = []refscan.Allocation{
		{Objects: 1, Bytes: 3 * mib, Stack: []refscan.SourceFrame{{Func: "app.load", File: "app.go", Line: 7}, {Func: "app.main", File: "app.go", Line: 9}}},
		{Objects: 1, Bytes: 1 * mib, Stack: []refscan.SourceFrame{{Func: "app.other", File: "app.go", Line: 8}}},
	}
	scan.Report.Roots = append(scan.Report.Roots, global("app.rows", "[][]uint8", 1, 96, n), global("app.small", "*T", 1, 16))
	for _, root := range scan.Report.Roots {
		scan.Report.Totals.AttributedBytes += totalBytes(root)
	}
	return &Spike{
		Source: "process 7", At: time.Unix(101, 0), Collection: 1234, Live: 40 * mib, Usual: 10 * mib, Limit: 20 * mib,
		Scan: scan, Base: base, HeapBase: []byte("a"), Heap: []byte("b"),
	}
}

func TestSpikeHeld(t *testing.T) {
	s := spikeOf(28 * mib)
	s.LeftOut, s.Missed = 1, 3
	require.True(t, s.Held())
	var b strings.Builder
	require.NoError(t, s.WriteText(&b, 10))
	text, tree, _ := strings.Cut(b.String(), "\ncore file core of app")
	require.Equal(t, `40.0 MiB alive in process 7 at the end of mark phase 1,234, 30.0 MiB more than usual (10.0 MiB)
since the spike before, 1 mark phase beyond the threshold left out because of the limits
so far 3 mark phases ended between two readings, and were not judged
a snapshot at once shows 38.0 MiB held

more than at the snapshot 1s before, while no more was alive than usual:

28.0 MiB more via app.rows  [][]uint8
    held by the package variable app.rows
    allocated at (3.0 MiB recorded):
        app.load (app.go:7)
        app.main (app.go:9)
    allocated at (1.0 MiB recorded):
        app.other (app.go:8)

… and 1 place with less
`, text)
	require.Contains(t, tree, "app.cache  []uint8\n")
	require.Contains(t, tree, "go tool pprof -base heap.base.pb.gz heap.pb.gz\n")
}

func TestSpikeIsGone(t *testing.T) {
	s := spikeOf(mib)
	require.False(t, s.Held())
	require.True(t, s.IsNone())
	s.Certain = true
	require.False(t, s.IsNone())
	s.Base, s.BaseErr = nil, errors.New("no room")
	var b strings.Builder
	require.NoError(t, s.WriteText(&b, 10))
	require.Contains(t, b.String(), "it was gone when a snapshot was taken at once, which shows 11.0 MiB held: who held it is not known\n")
	require.Contains(t, b.String(), "what is more than usual is not told apart: no room\n")
}

func TestWriteSpikeFolder(t *testing.T) {
	dir := t.TempDir()
	s := spikeOf(28 * mib)
	path, err := s.WriteFolder(dir)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "spike-19700101T000141Z-process-7-gc1234"), path)
	scan, err := Read(filepath.Join(path, "report.json"))
	require.NoError(t, err)
	require.Equal(t, s.Scan, scan)
	base, err := Read(filepath.Join(path, "base.json"))
	require.NoError(t, err)
	require.Equal(t, s.Base, base)

	path, err = (&Spike{Source: "process 7", Err: errors.New("no room")}).WriteFolder(dir)
	require.NoError(t, err)
	entries, err := os.ReadDir(path)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	text, err := os.ReadFile(filepath.Join(path, "spike.txt"))
	require.NoError(t, err)
	require.Contains(t, string(text), "who held it is not known: no room\n")
}
