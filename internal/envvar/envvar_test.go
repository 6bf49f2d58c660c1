package envvar

import (
	"os"
	"slices"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestLookup(t *testing.T) {
	for _, tt := range []struct {
		env         map[string]string
		value, name string
	}{
		{nil, "", "LEAKGATE_X"},
		{map[string]string{"LEAKGATE_X": "1"}, "1", "LEAKGATE_X"},
		{map[string]string{"LEAKCHECK_X": "2"}, "2", "LEAKCHECK_X"},
		{map[string]string{"LEAKGATE_X": "1", "LEAKCHECK_X": "2"}, "1", "LEAKGATE_X"},
		// set, but empty
		{map[string]string{"LEAKGATE_X": "", "LEAKCHECK_X": "2"}, "", "LEAKGATE_X"},
		{map[string]string{"LEAKGATE_XY": "1"}, "", "LEAKGATE_X"},
	} {
		t.Run("", func(t *testing.T) {
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			value, name := Variable("X").Lookup()
			require.Equal(t, tt.value, value)
			require.Equal(t, tt.name, name)
			require.Equal(t, tt.value, Variable("X").Value())
		})
	}
	require.Equal(t, "LEAKGATE_UPDATE=1", Update.Set("1"))
}

func TestWithout(t *testing.T) {
	environ := []string{"A=1", "LEAKGATE_UPDATE=1", "LEAKCHECK_ARTIFACTS=x", "LEAKGATE_ARTIFACTS_ALL=1", "LEAKGATE_ARTIFACTS=y=z", "UPDATE=2"}
	require.Equal(t, []string{"A=1", "LEAKGATE_ARTIFACTS_ALL=1", "UPDATE=2"}, Without(environ, Artifacts, Update))
	require.Equal(t, environ, Without(environ))
}

// A test that empties the environment does not lose what leakgate set.
func TestLookupAtStart(t *testing.T) {
	at := slices.Index(all[:], Strict)
	before := atStart[at]
	defer func() { atStart[at] = before }()
	for _, name := range []string{"LEAKGATE_STRICT", "LEAKCHECK_STRICT"} {
		t.Setenv(name, "") // to be set again after the test
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	atStart[at] = entry{"1", "LEAKCHECK_STRICT"}
	value, name := Strict.Lookup()
	require.Equal(t, "1 LEAKCHECK_STRICT", value+" "+name)
	t.Setenv("LEAKGATE_STRICT", "0")
	require.Equal(t, "0", Strict.Value())
}
