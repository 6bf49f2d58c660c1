package gotest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// testModule writes a module with leakcheck's import path, so that it needs no other module.
func testModule(t *testing.T, files map[string]string) Query {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module github.com/leakgate/leakgate\n\ngo 1.26.0\n"
	files["leakcheck/leakcheck.go"] = "package leakcheck\n"
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o777))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o666))
	}
	return Query{Dir: dir, Env: append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOTOOLCHAIN=local")}
}

func TestPackages(t *testing.T) {
	const use = "import _ \"github.com/leakgate/leakgate/leakcheck\"\n"
	cfg := testModule(t, map[string]string{
		"inside/a_test.go":  "package a\n" + use,
		"beside/a_test.go":  "package a_test\n" + use,
		"helper/a.go":       "package helper\n" + use,
		"through/a_test.go": "package a\nimport _ \"github.com/leakgate/leakgate/helper\"\n",
		"code/a.go":         "package a\n" + use, // no tests
		"without/a_test.go": "package a\n",
		// looks like a test's main package
		"command.test/a.go":      "package main\nfunc main() {}\n",
		"command.test/b.go":      "package main\n" + use,
		"excluded/a_plan9.go":    "package a\n",
		"tagged/a_test.go":       "package a\n",
		"tagged/more_test.go":    "//go:build more\n\npackage a\n" + use,
		"testdata/a/a_test.go":   "package a\n" + use,
		"nested/go.mod":          "module example.com/nested\n",
		"nested/inner/a_test.go": "package a\n" + use,
	})
	dir, err := filepath.EvalSymlinks(cfg.Dir)
	require.NoError(t, err)
	prefix := "github.com/leakgate/leakgate/"
	found, matched, err := Packages(cfg, []string{"./..."})
	require.NoError(t, err)
	require.Equal(t, []Package{
		{prefix + "beside", filepath.Join(dir, "beside"), true, ""},
		{prefix + "inside", filepath.Join(dir, "inside"), true, ""},
		{prefix + "tagged", filepath.Join(dir, "tagged"), false, ""},
		{prefix + "through", filepath.Join(dir, "through"), true, ""},
		{prefix + "without", filepath.Join(dir, "without"), false, ""},
	}, found)
	require.GreaterOrEqual(t, matched, len(found))

	cfg.BuildFlags = []string{"-tags=more"}
	found, _, err = Packages(cfg, []string{"./tagged"})
	require.NoError(t, err)
	require.Equal(t, []Package{{prefix + "tagged", filepath.Join(dir, "tagged"), true, ""}}, found)

	found, matched, err = Packages(cfg, []string{"./code"})
	require.NoError(t, err)
	require.Empty(t, found)
	require.Equal(t, 1, matched)
}

func TestPackagesTellsEachProblemOnce(t *testing.T) {
	cfg := testModule(t, map[string]string{
		"a/a.go":      "package a\n\nimport _ \"example.com/missing\"\n",
		"a/a_test.go": "package a\n",
		"b/b_test.go": "package b\n\nfunc (\n",
	})
	_, _, err := Packages(cfg, []string{"./..."})
	var load *LoadError
	require.ErrorAs(t, err, &load)
	require.Len(t, load.Problems, 2)
	require.Contains(t, err.Error(), filepath.FromSlash("a/a.go")+":3:8: no required module provides package example.com/missing")
	require.Contains(t, err.Error(), filepath.FromSlash("b/b_test.go")+":3:8: ")

	// One that loads is not kept from running by the others.
	require.NoError(t, os.Mkdir(filepath.Join(cfg.Dir, "c"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(cfg.Dir, "c", "c_test.go"), []byte("package c\n"), 0o666))
	found, matched, err := Packages(cfg, []string{"./..."})
	require.NoError(t, err)
	require.Equal(t, 4, matched)
	require.Len(t, found, 3)
	require.Contains(t, found[0].Broken, "no required module provides package example.com/missing")
	require.Contains(t, found[1].Broken, "b_test.go:3:8: ")
	require.Empty(t, found[2].Broken)
	// A folder that is not there is a slip in the command.
	_, _, err = Packages(cfg, []string{"./...", "./nosuch"})
	require.ErrorAs(t, err, &load)

	cfg.BuildFlags = []string{"-nosuchflag"}
	_, _, err = Packages(cfg, []string{"./..."})
	require.ErrorContains(t, err, "-nosuchflag")
	require.NotContains(t, err.Error(), "exit status")
}
