package gotest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A -modfile is taken from wherever the go command takes it, beside other flags, and the command
// line beats GOFLAGS.
func TestPackagesWithModfile(t *testing.T) {
	cfg := testModule(t, map[string]string{
		"other file.mod": "module example.com/other\n\ngo 1.26.0\n",
		"in/a_test.go":   "//go:build more\n\npackage a\n",
	})
	written := filepath.Join(t.TempDir(), "env")
	require.NoError(t, os.WriteFile(written, []byte("GOFLAGS=-tags=more '-modfile=other file.mod'\n"), 0o666))
	for name, test := range map[string]struct{ env, flags []string }{
		"GOFLAGS":               {env: []string{"GOFLAGS=-tags=more '-modfile=other file.mod'"}},
		"go env -w":             {env: []string{"GOFLAGS=", "GOENV=" + written}},
		"nothing else":          {env: []string{"GOFLAGS='--modfile=other file.mod'", "GOENV=" + written}, flags: []string{"-tags=more"}},
		"build flags":           {flags: []string{"-tags=more", "-modfile=other file.mod"}},
		"build flags beat them": {env: []string{"GOFLAGS=-modfile=no.mod -mod=mod"}, flags: []string{"-tags=more", "-modfile=other file.mod"}},
	} {
		found, _, err := Packages(Query{cfg.Dir, append(cfg.Env[:len(cfg.Env):len(cfg.Env)], test.env...), test.flags}, []string{"./..."})
		require.NoError(t, err, name)
		require.Len(t, found, 1, name)
		require.Equal(t, "example.com/other/in", found[0].ImportPath, name)
	}
}
