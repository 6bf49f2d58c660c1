package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A workspace refuses -modfile, and builds have one overlay: the user's replaces what is in it.
func TestFlags(t *testing.T) {
	dir := t.TempDir()
	users := filepath.Join(dir, "users.json")
	require.NoError(t, os.WriteFile(users, []byte(`{"Replace":{"/m/a.go":"/m/b.go","/m/gone.go":""}}`), 0o666))
	w := &Workspace{overlay: map[string]string{"/m/go.mod": "/w/go.mod"}}
	ours := map[string]string{"/m/a.go": "/w/a.go", "/m/c.go": "/w/c.go"}
	for _, args := range [][]string{
		{"-race", "-modfile=alt.mod", "-overlay=" + users, "-tags", "x"},
		{"-race", "--modfile", "alt.mod", "-overlay", users, "-tags", "x"},
	} {
		rest, all, err := w.flags(args, ours)
		require.NoError(t, err)
		require.Equal(t, []string{"-race", "-tags", "x"}, rest)
		require.Equal(t, map[string]string{"/m/go.mod": "/w/go.mod", "/m/a.go": "/m/b.go", "/m/gone.go": "", "/m/c.go": "/w/c.go"}, all)
	}
	require.Len(t, ours, 2, "it is not changed")

	require.NoError(t, os.WriteFile(users, []byte("{"), 0o666))
	_, _, err := w.flags([]string{"-overlay=" + users}, nil)
	require.ErrorContains(t, err, "-overlay: ")
	_, _, err = w.flags([]string{"-overlay"}, nil)
	require.ErrorContains(t, err, "-overlay: ")
}
