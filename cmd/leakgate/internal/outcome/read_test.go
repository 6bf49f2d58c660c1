package outcome

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "leakgate.json")
	for text, want := range map[string]string{
		`{"schema": 1}`: "it has no outcome",
		`{"schema": 1, "outcome": "later", "leakgate": "v9.0.0"}`:                        `this version knows no outcome "later": read it with the version that wrote it, v9.0.0`,
		`{"schema": 1, "outcome": "pass", "packages": [null]}`:                           "it has null for a package or an assertion",
		`{"schema": 1, "outcome": "pass", "packages": [{"assertions": [{}, null]}, {}]}`: "it has null for a package or an assertion",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o666))
		_, err := Read(file)
		require.EqualError(t, err, file+" is no report of leakgate run: "+want)
	}
}

// A report with holes takes no room on the disk, and several times its size in memory.
func TestReadIsBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "leakgate.json")
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	require.NoError(t, os.Truncate(file, maxReport))
	_, err := Read(file)
	require.ErrorContains(t, err, "is no report of leakgate run")
	require.NoError(t, os.Truncate(file, maxReport+1))
	_, err = Read(file)
	require.ErrorContains(t, err, "leakgate.json has 67108865 bytes or more, and leakgate reads no more than 67108864 of such a file")
}
