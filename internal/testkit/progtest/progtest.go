// Package progtest builds the program that the tests of debug information read, and takes system
// calls away from programs that tests start.
package progtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile/anyfile"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// builds are the programs built from testdata/prog in this test run, by flags.
var builds struct {
	sync.Mutex
	removed bool // at the end of the process
	dir     string
	path    map[string]string
}

// Main runs a package's tests and removes the programs that they built.
func Main(m *testing.M) {
	builds.removed = true
	code := m.Run()
	if builds.dir != "" {
		_ = os.RemoveAll(builds.dir)
	}
	os.Exit(code)
}

// Build builds testdata/prog once for each set of flags. Flags that do not begin with a dash are
// environment variables.
func Build(tb testing.TB, flags ...string) string {
	tb.Helper()
	builds.Lock()
	defer builds.Unlock()
	require.True(tb, builds.removed, "TestMain has to call progtest.Main")
	key := strings.Join(flags, " ")
	if path := builds.path[key]; path != "" {
		return path
	}
	if builds.dir == "" {
		dir, err := os.MkdirTemp("", "debuginfo")
		require.NoError(tb, err)
		builds.dir, builds.path = dir, make(map[string]string)
	}
	path := filepath.Join(builds.dir, "prog"+strings.NewReplacer("/", "_", " ", "_").Replace(key))
	run(tb, []string{"build", "-o", path}, flags)
	builds.path[key] = path
	return path
}

// run runs a go command in testdata/prog, with flags and environment variables as for Build.
func run(tb testing.TB, args, flags []string) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "go", args...)
	cmd.Dir = filepath.Join("testdata", "prog")
	if _, err := os.Stat(cmd.Dir); err != nil {
		cmd.Dir = filepath.Join("..", cmd.Dir)
	}
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	for _, f := range flags {
		if strings.HasPrefix(f, "-") {
			cmd.Args = append(cmd.Args, f)
		} else {
			cmd.Env = append(cmd.Env, f)
		}
	}
	out, err := cmd.CombinedOutput()
	require.NoError(tb, err, "%s", out)
}

// BuildTest builds the test of testdata/prog for any system: as go test runs it, without debug
// information, and its twin, as go test -c builds it. env holds environment variables.
func BuildTest(tb testing.TB, env ...string) (original, twin string) {
	tb.Helper()
	dir := tb.TempDir()
	original, twin = filepath.Join(dir, "original"), filepath.Join(dir, "twin")
	script := filepath.Join(dir, "copy")
	require.NoError(tb, os.WriteFile(script, []byte("#!/bin/sh\nexec cp \"$1\" '"+original+"'\n"), 0o700))
	run(tb, []string{"test", "-vet=off", "-count=1", "-exec", script, "."}, env)
	run(tb, []string{"test", "-c", "-vet=off", "-o", twin, "."}, env)
	return original, twin
}

// Open opens an executable of any system until the test ends.
func Open(tb testing.TB, path string) *objfile.File {
	tb.Helper()
	f, err := anyfile.Open(path)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = f.Close() })
	return f
}

// Long reports whether to run the long tests too, as CI does; they compile for minutes.
func Long() bool { return os.Getenv("LEAKGATE_LONG") != "" }
