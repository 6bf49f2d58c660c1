package ledger

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// TestManyFiles checks that a folder with many temporary files is left out, unless it had fewer
// before.
func TestManyFiles(t *testing.T) {
	defer hadFewFiles.Store(hadFewFiles.Swap(false))
	dir := t.TempDir()
	fill := func(from, to int) {
		for i := from; i < to; i++ {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "a-"+strconv.Itoa(i)), nil, 0o600))
		}
	}
	read := func() *Ledger {
		l := &Ledger{}
		l.addFiles(dir, "")
		return l
	}
	fill(0, maxFiles+1)
	l := read()
	require.Len(t, l.Missing, 1)
	assert.Equal(t, "temporary files: there are more than 20000", l.Missing[0].Error())
	assert.Equal(t, int64(0), l.Count(File))

	require.NoError(t, os.Remove(filepath.Join(dir, "a-0")))
	l = read()
	assert.Empty(t, l.Missing)
	assert.Equal(t, int64(maxFiles), l.Count(File))

	fill(maxFiles+1, maxFiles+100)
	l = read()
	assert.Empty(t, l.Missing)
	assert.Equal(t, int64(maxFiles+99), l.Count(File))
}
