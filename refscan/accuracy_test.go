package refscan_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// record appends an audit to the file that LEAKGATE_ACCURACY names. internal/tests/tables makes the
// table in doc/accuracy.md from it. unused is the result of unusedData, a part of the attributed
// bytes.
func record(t testing.TB, totals refscan.Totals, unused int64) {
	t.Helper()
	name := os.Getenv("LEAKGATE_ACCURACY")
	if name == "" {
		return
	}
	line, err := json.Marshal(struct {
		Test   string         `json:"test"`
		Totals refscan.Totals `json:"totals"`
		Unused int64          `json:"unused"`
	}{t.Name(), totals, unused})
	require.NoError(t, err)
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	require.NoError(t, err)
	_, err = f.Write(append(line, '\n'))
	require.NoError(t, err)
	require.NoError(t, f.Close())
}
