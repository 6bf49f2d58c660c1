package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

func audit(test string, typed, missed, extra int64) row {
	return row{Test: test, Totals: refscan.Totals{
		LiveBytes: 100_000 + missed, AttributedBytes: 100_000, TypedBytes: typed, MissedBytes: missed, ExtraBytes: extra,
	}}
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		r     row
		procs int
		want  string
	}{
		{audit("TestA", 99_500, 32, 0), 1, ""},
		{audit("TestA", 98_900, 0, 0), 1, "only 98.90 % are typed"},
		{audit("TestA", 99_500, 0, 16), 1, "16 B are reached that the collector found dead"},
		{audit("TestA", 99_500, 1000, 0), 1, "1000 B are missed, of 128 B that may be"},
		{audit("TestA", 99_500, 1000, 0), 2, ""},
		{row{}, 1, "nothing is alive"},
	} {
		require.Equal(t, c.want, c.r.judge(c.procs))
	}
}

func TestCompareWithDocument(t *testing.T) {
	entries := []entry{{audit("TestMaps/of_8", 99_700, 0, 0), 1}, {audit("TestLoops", 99_500, 0, 0), 2}}
	table := constructTable("go1.26.8", entries)
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "doc"), 0o777))
	file := filepath.Join(dir, accuracy.file())
	require.NoError(t, os.WriteFile(file, []byte("before\n<!-- accuracy: a -->\nold\n<!-- end -->\nafter\n<!-- accuracy: b -->\n"), 0o666))
	require.NoError(t, accuracy.write(dir, "a", table))
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "before\n<!-- accuracy: a -->\n"+table+"<!-- end -->\nafter\n<!-- accuracy: b -->\n", string(written))
	documented, err := accuracy.read(dir, "a")
	require.NoError(t, err)
	require.Equal(t, table, documented)
	_, err = accuracy.read(dir, "b")
	require.ErrorContains(t, err, "does not end")
	_, err = accuracy.read(dir, "c")
	require.ErrorContains(t, err, `no section "c"`)

	rows := tableRows(documented)
	require.Len(t, rows, 2)
	require.Empty(t, compareConstructs(entries, rows))
	alone := []entry{entries[0], {entries[1].row, 1}}
	require.Empty(t, compareConstructs(alone, rows), "the mark is no part of the name")
	worse := []entry{{audit("TestMaps/of_8", 99_300, 0, 0), 1}}
	require.Equal(t, []string{
		"Loops: in doc/accuracy.md, but there is no such construct; run the command again without -check",
		"Maps: of 8: 99.30 % are typed; doc/accuracy.md says 99.70",
	}, compareConstructs(worse, rows))
	more := append(entries, entry{audit("TestNew", 99_700, 0, 0), 1})
	require.Equal(t, []string{"New: not in doc/accuracy.md; run the command again without -check"}, compareConstructs(more, rows))
}

func TestWorst(t *testing.T) {
	rows := worst([]row{audit("TestA", 99_700, 48, 0), audit("TestB", 99_900, 0, 0), audit("TestA", 99_600, 16, 0)})
	require.Len(t, rows, 2)
	require.Equal(t, "TestA", rows[0].Test)
	require.InDelta(t, 99.6, rows[0].typed(), 1e-9)
	require.EqualValues(t, 48, rows[0].Totals.MissedBytes)
}

func TestChooseBuilds(t *testing.T) {
	all26, err := chooseBuilds(nil, "go1.26.8")
	require.NoError(t, err)
	all27, err := chooseBuilds(nil, "go1.27.3")
	require.NoError(t, err)
	names := func(bs []build) (n []string) {
		for _, b := range bs {
			n = append(n, b.name)
		}
		return n
	}
	require.NotContains(t, names(all26), "mapsplitgroup")
	require.Contains(t, names(all27), "mapsplitgroup")
	require.NotContains(t, names(all27), "goroutineleakprofile")
	_, err = chooseBuilds([]string{"pie", "mapsplitgroup"}, "go1.26.8")
	require.ErrorContains(t, err, "are not all builds of go1.26.8")
}
