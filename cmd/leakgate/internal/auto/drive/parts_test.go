package drive

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A group is divided into the tests that its roots' stacks name and the others, or into halves if
// they name none, all or too many.
func TestPartsOf(t *testing.T) {
	group := func(names ...string) *Exploration { return &Exploration{Functions: names} }
	root := func(names ...string) []Root { return []Root{{Name: "global a.all", Functions: names}} }

	named, parts := partsOf(group("TestA", "TestB", "TestC", "TestD"), root("Keep", "TestC"))
	require.True(t, named)
	require.Equal(t, [][]string{{"TestC"}, {"TestA", "TestB", "TestD"}}, parts)

	halves := [][]string{{"TestA", "TestB"}, {"TestC", "TestD"}}
	named, parts = partsOf(group("TestA", "TestB", "TestC", "TestD"), root("Keep"))
	require.False(t, named)
	require.Equal(t, halves, parts)
	_, parts = partsOf(group("TestA", "TestB", "TestC", "TestD"), root("TestA", "TestB", "TestC", "TestD"))
	require.Equal(t, halves, parts)
	named, parts = partsOf(group("TestA/x", "TestA/y"), root("TestA"))
	require.False(t, named, "stacks do not name subtests")
	require.Equal(t, [][]string{{"TestA/x"}, {"TestA/y"}}, parts)
}
