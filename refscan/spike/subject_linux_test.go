//go:build amd64 || arm64

package spike_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan/scanreport"
)

// run builds the subject, and returns what it prints and the folders that it makes.
func run(t *testing.T, buildFlags []string, args ...string) (out string, folders []string) {
	t.Helper()
	exe, dir := filepath.Join(t.TempDir(), "subject"), t.TempDir()
	built, err := exec.Command("go", append(append([]string{"build"}, buildFlags...), "-o", exe, "./testdata/subject")...).CombinedOutput()
	require.NoError(t, err, "%s", built)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	b, err := exec.CommandContext(ctx, exe, append([]string{dir}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", b)
	folders, err = filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, folders, 2, "%s", b)
	assert.Equal(t, 1, strings.Count(string(b), "\ngoroutines while it runs: 2\nstopped\n"), "%s", b)
	return string(b), folders
}

// A spike is reported with what held it and where it was allocated, without the memory that is
// always there.
func TestProgram(t *testing.T) {
	out, folders := run(t, nil)
	const facts = ", usual 10 MiB, held: true, left out: 0, profiles: true, report: true\n"
	assert.Equal(t, 2, strings.Count(out, facts), out)
	assert.Equal(t, 2, strings.Count(out, "MiB more via main.holdForAWhile.rows  [][]uint8\n    held by the variable main.holdForAWhile.rows"), out)
	assert.Equal(t, 2, strings.Count(out, "recorded):\n        main.holdForAWhile ("), out)
	assert.NotContains(t, out, "more via main.longLived")
	assert.Contains(t, out, "main.longLived  []uint8\n", "the tree has it")
	for _, folder := range folders {
		for _, name := range []string{"spike.txt", "retained.pb.gz", "heap.base.pb.gz", "heap.pb.gz"} {
			info, err := os.Stat(filepath.Join(folder, name))
			require.NoError(t, err)
			assert.Positive(t, info.Size())
		}
		base, err := scanreport.Read(filepath.Join(folder, "base.json"))
		require.NoError(t, err)
		scan, err := scanreport.Read(filepath.Join(folder, "report.json"))
		require.NoError(t, err)
		growth, err := scan.Since(base)
		require.NoError(t, err)
		require.NotEmpty(t, growth.Leaks)
		assert.Equal(t, "main.holdForAWhile.rows", growth.Leaks[0].Path)
	}
}

// A spike that is over when a snapshot is taken is reported with where its memory was allocated.
func TestBriefSpikes(t *testing.T) {
	require.Slow(t)
	exe := filepath.Join(t.TempDir(), "subject")
	built, err := exec.Command("go", "build", "-o", exe, "./testdata/subject").CombinedOutput()
	require.NoError(t, err, "%s", built)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, exe, "brief").CombinedOutput()
	require.NoError(t, err, "%s", out)
	spikes := strings.Split(string(out), " more than usual (")[1:]
	require.Len(t, spikes, 20)
	for _, text := range spikes {
		_, recorded, ok := strings.Cut(text, "alive at the end of that mark phase and not before, by samples:\n")
		require.True(t, ok && strings.Contains(recorded, "MiB allocated at:\n        main.holdBriefly ("), "%s", text)
		require.NotContains(t, recorded, "main.rand")
	}
}

// Without debug information the spike says why it is not known who held the memory.
func TestStripped(t *testing.T) {
	out, _ := run(t, []string{"-ldflags=-s -w"})
	assert.Equal(t, 2, strings.Count(out, "who held it is not known: refscan: the program was linked without debug information, "+
		"and only tests can be linked again (link it without -s and -w)\n"), out)
}

// Where there is no memory for a snapshot, the program continues, and the spike says why there is
// none.
func TestNoMemory(t *testing.T) {
	out, folders := run(t, nil, "limited")
	assert.Equal(t, 2, strings.Count(out, "who held it is not known: refscan: "), out)
	assert.Equal(t, 2, strings.Count(out, "raise ulimit -d to"), out)
	assert.Equal(t, 2, strings.Count(out, "held: false, left out: 0, profiles: true, report: false\n"), out)
	for _, folder := range folders {
		_, err := os.Stat(filepath.Join(folder, "report.json"))
		assert.ErrorIs(t, err, os.ErrNotExist)
		text, err := os.ReadFile(filepath.Join(folder, "spike.txt"))
		require.NoError(t, err)
		assert.Contains(t, string(text), "go tool pprof -base heap.base.pb.gz heap.pb.gz")
	}
}
