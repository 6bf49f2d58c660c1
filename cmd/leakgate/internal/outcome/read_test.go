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
