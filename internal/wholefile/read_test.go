package wholefile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/internal/wholefile"
)

// endless counts what was read of it.
type endless struct{ read int64 }

func (e *endless) Read(b []byte) (int, error) {
	e.read += int64(len(b))
	return len(b), nil
}

func TestRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte("12345"), 0o666))
	for _, limit := range []int64{5, 6, 1 << 40} {
		data, err := wholefile.Read(file, limit)
		require.NoError(t, err)
		assert.Equal(t, "12345", string(data))
	}
	_, err := wholefile.Read(file, 4)
	assert.ErrorContains(t, err, "file has 5 bytes or more, and leakgate reads no more than 4")
	_, err = wholefile.Read(filepath.Join(file, "none"), 4)
	assert.Error(t, err)

	// A file with holes takes no room on the disk, and would take all memory.
	require.NoError(t, os.Truncate(file, 1<<40))
	_, err = wholefile.Read(file, wholefile.Most)
	assert.ErrorContains(t, err, "file has 1099511627776 bytes or more")
}

func TestReadAll(t *testing.T) {
	e := new(endless)
	_, err := wholefile.ReadAll(e, "the answer", 1000)
	assert.ErrorContains(t, err, "the answer has 1001 bytes or more")
	assert.Equal(t, int64(1001), e.read)
	data, err := wholefile.ReadAll(bytes.NewReader(make([]byte, 1000)), "the answer", 1000)
	require.NoError(t, err)
	assert.Len(t, data, 1000)
}
