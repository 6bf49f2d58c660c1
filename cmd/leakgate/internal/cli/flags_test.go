package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A flag that is empty because a variable is not set names nothing, which is said.
func TestEmptyFlags(t *testing.T) {
	for _, c := range []struct {
		args []string
		why  string
	}{
		{[]string{"-base", "", "./..."}, "-base is empty: say what it names, or leave it out"},
		{[]string{"./...", "-base="}, "-base is empty: say what it names, or leave it out"},
		{[]string{"-base", "main", "-junit", ""}, "-junit is empty: say what it names, or leave it out"},
		{[]string{"-base", "main", "./..."}, ""},
		{[]string{"-run", "", "./..."}, ""}, // all tests, as go test has it
		{[]string{"./..."}, ""},
	} {
		f := NewFlagSet("run")
		for _, name := range []string{"base", "junit", "run"} {
			f.String(name, "", "")
		}
		rest, err := ParseMixed(f, c.args)
		if c.why == "" {
			require.NoError(t, err, c.args)
			assert.Equal(t, []string{"./..."}, rest)
			continue
		}
		assert.EqualError(t, err, c.why)
	}
}
