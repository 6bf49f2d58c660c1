package results

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/internal/wholefile"
)

// A shard whose file is too large is refused, and the shards before it leave nothing.
func TestRefusedMergeLeavesNothing(t *testing.T) {
	first, second := shardOf(t, 1), shardOf(t, 2)
	for dir, size := range map[string]int64{filepath.Join(first, "tests", "b"): 1, filepath.Join(second, "tests", "c"): wholefile.Most + 1} {
		require.NoError(t, os.MkdirAll(dir, 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "trace.txt"), nil, 0o666))
		require.NoError(t, os.Truncate(filepath.Join(dir, "trace.txt"), size))
	}
	top := t.TempDir()
	merge := func() string {
		var out bytes.Buffer
		c := &cli.Context{Stdout: &out, Stderr: &out}
		Merge(c, []string{"-o", filepath.Join(top, "above", "merged"), first, second})
		return out.String()
	}
	require.Contains(t, merge(), "and no more than ")
	entries, err := os.ReadDir(top)
	require.NoError(t, err)
	require.Empty(t, entries)

	require.NoError(t, os.Truncate(filepath.Join(second, "tests", "c", "trace.txt"), 1))
	require.Contains(t, merge(), "retention regression (exit 1)")
	require.FileExists(t, filepath.Join(top, "above", "merged", "tests", "b", "trace.txt"))
}
