package runtests

import (
	"slices"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestParseTakesFlagsOnBothSides(t *testing.T) {
	o, err := Parse([]string{"-race", "./a", "-run", "X", "./b", "-v", "--", "./c", "-short"})
	require.NoError(t, err)
	require.True(t, o.race)
	require.True(t, o.verbose)
	require.Equal(t, "X", o.run)
	require.Equal(t, []string{"./a", "./b"}, o.patterns)
	require.Equal(t, []string{"./c", "-short"}, o.passthrough.Args)

	o, err = Parse(nil)
	require.NoError(t, err)
	require.Equal(t, []string{"."}, o.patterns)
	require.Equal(t, 1, o.count)
	require.True(t, slices.Equal(o.passthrough.Args, nil))
}

func TestParseRefusesPatternsOfTests(t *testing.T) {
	_, err := Parse([]string{"-run", "Test[/x"})
	require.ErrorContains(t, err, "-run: error parsing regexp: missing closing ]")
	_, err = Parse([]string{"-run", "^TestA$/^b|c$/[/]"})
	require.NoError(t, err)
}
