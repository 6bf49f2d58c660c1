package ledger

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// The schema of leakgate.json lists the kinds by their names in records.
func TestSchemaHasTheKinds(t *testing.T) {
	text, err := os.ReadFile("../../../doc/leakgate.schema.json")
	require.NoError(t, err)
	var schema struct {
		Defs map[string]struct {
			Properties map[string]struct{ Enum []string }
		} `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(text, &schema))
	var names []string
	for _, k := range Kinds() {
		names = append(names, k.String())
	}
	assert.Equal(t, names, schema.Defs["resource"].Properties["kind"].Enum)
}
