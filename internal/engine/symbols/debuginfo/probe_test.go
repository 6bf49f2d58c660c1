package debuginfo

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/progtest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// probe is a scratch module with tests that open their own debug information and compare it with
// what they know of themselves (testdata/probe). Its path lies under refscan, which lets it import
// this package.
type probe struct {
	dir, cache string
	env        []string
}

func newProbe(t *testing.T) *probe {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	root, err := filepath.Abs("../../../..")
	require.NoError(t, err)
	p := &probe{dir: filepath.Join(t.TempDir(), "probe"), cache: filepath.Join(t.TempDir(), "cache")}
	require.NoError(t, os.CopyFS(p.dir, os.DirFS("testdata/probe")))
	p.write(t, "go.mod", `module github.com/leakgate/leakgate/refscan/probe

go 1.26.0

require (
	example.com/dep.v2 v0.0.0
	github.com/leakgate/leakgate v0.0.0
)

replace (
	example.com/dep.v2 => ./dep
	github.com/leakgate/leakgate => `+root+`
)
`)
	p.write(t, "dep/go.mod", "module example.com/dep.v2\n\ngo 1.26.0\n")
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "GOFLAGS=") && !strings.HasPrefix(kv, "GOCOVERDIR=") {
			p.env = append(p.env, kv)
		}
	}
	p.env = append(p.env, "LEAKGATE_CACHE="+p.cache, "GOWORK=off", "GOFLAGS=")
	return p
}

func (p *probe) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(p.dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
}

// run runs a command in the module and returns all output.
func (p *probe) run(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	return p.runIn(t, p.dir, env, name, args...)
}

func (p *probe) runIn(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(append([]string{}, p.env...), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %s\n%s", name, strings.Join(args, " "), out)
	return string(out)
}

// twinCase is a way to run go test after which the twin has to be the same program.
type twinCase struct {
	name string
	env  []string
	args []string // arguments of go test; the package is "." if they name none
	want string
	goes bool // the go command has to build the twin: Relink does not know the linker's flags
	long bool // left to CI: compiles the standard library anew, or resembles another case
}

var twinCases = []twinCase{
	{name: "plain"},
	{name: "cover", args: []string{"-cover"}},
	{name: "coverprofile", long: true, args: []string{"-coverprofile=c.out"}},
	{name: "coverpkg", args: []string{"-coverpkg=./...", "-covermode=atomic"}},
	{name: "tags", args: []string{"-tags", "special"}, want: "tagged true"},
	{name: "external", args: []string{"./ext"}},
	{name: "all packages", long: true, args: []string{"./..."}},
	{name: "ldflags", goes: true, args: []string{"-ldflags=-X github.com/leakgate/leakgate/refscan/probe.Version=1.2"}, want: "version 1.2"},
	{name: "stripped", goes: true, args: []string{"-ldflags=-s -w -X github.com/leakgate/leakgate/refscan/probe.Version=1.2"}, want: "version 1.2"},
	{name: "stripped by GOFLAGS", goes: true, long: true, env: []string{`GOFLAGS="-ldflags=-s -w"`}},
	{name: "mod", env: []string{"GOFLAGS=-mod=mod"}},
	{name: "json", long: true, args: []string{"-json", "-count=1", "-v"}},
	{name: "chdir", env: []string{"PROBE_CHDIR=/"}},
	{name: "nopgo", long: true, args: []string{"-pgo=off", "-p", "1"}},
	{name: "race", args: []string{"-race"}, long: true},
	{name: "race cover", args: []string{"-race", "-cover"}, long: true},
	{name: "trimpath", args: []string{"-trimpath"}, long: true},
	{name: "trimpath ldflags", goes: true, args: []string{"-trimpath", "-ldflags=-s -X github.com/leakgate/leakgate/refscan/probe.Version=1.2"}, want: "version 1.2", long: true},
	{name: "pie", args: []string{"-buildmode=pie"}, long: true},
	{name: "nocgo", env: []string{"CGO_ENABLED=0"}, long: true},
	{name: "unoptimised", args: []string{"-gcflags=all=-N -l"}, long: true},
	{name: "unoptimised package", long: true, args: []string{"-gcflags=-N -l"}},
	{name: "external linking", goes: true, args: []string{"-ldflags=-linkmode=external"}, long: true},
	{name: "external linking pie", goes: true, args: []string{"-buildmode=pie", "-ldflags=-linkmode=external"}, long: true},
	{name: "GOAMD64", env: []string{"GOAMD64=v2", "GOARM64=v8.1"}, long: true},
	{name: "experiment", env: []string{"GOEXPERIMENT=nodwarf5"}, long: true},
}

// byGoCommand is logged if Build, and not Relink, makes the twin.
const byGoCommand = "PROBE log the go command builds a twin"

func TestTwin(t *testing.T) {
	require.Slow(t)
	if testing.Short() {
		t.Skip("builds programs")
	}
	toolchains := []string{""}
	if progtest.Long() {
		toolchains = []string{"go1.26.8", "go1.27.3"}
	}
	for _, toolchain := range toolchains {
		for _, c := range twinCases {
			if c.long && !progtest.Long() {
				continue
			}
			t.Run(strings.TrimSpace(toolchain+" "+c.name), func(t *testing.T) {
				p := newProbe(t)
				if toolchain != "" {
					p.env = append(p.env, "GOTOOLCHAIN="+toolchain)
				}
				sources := []string{"twin"}
				if c.name == "plain" || progtest.Long() {
					sources = append(sources, "cache")
				}
				for _, source := range sources {
					out := p.run(t, c.env, "go", append([]string{"test", "-v", "-count=1"}, c.args...)...)
					require.Equal(t, source == "twin" && c.goes, strings.Contains(out, byGoCommand), out)
					require.Contains(t, out, "PROBE checked "+source)
					require.Contains(t, out, c.want)
					require.NotContains(t, out, "PROBE error")
				}
				left, err := filepath.Glob(filepath.Join(p.cache, "debuginfo", "*tmp*"))
				require.NoError(t, err)
				require.Empty(t, left, "twins and temporary files are removed")
			})
		}
	}
}

func TestTwinOfVendoredModule(t *testing.T) {
	needLong(t)
	p := newProbe(t)
	p.run(t, nil, "go", "mod", "vendor")
	out := p.run(t, nil, "go", "test", "-v", "-mod=vendor")
	require.Contains(t, out, "PROBE checked twin")
}

func TestTwinInWorkspace(t *testing.T) {
	require.Slow(t)
	p := newProbe(t)
	p.write(t, "go.work", "go 1.26.0\n\nuse (\n\t.\n\t./dep\n)\n")
	out := p.run(t, []string{"GOWORK="}, "go", "test", "-v")
	require.Contains(t, out, "PROBE checked twin")
}

// TestTwinOfWhatWasCompiled runs a test binary in the folder in which go test linked it, with the
// right list of inputs and with wrong ones.
func TestTwinOfWhatWasCompiled(t *testing.T) {
	require.Slow(t)
	p := newProbe(t)
	build := func(args ...string) (folder string) {
		out := p.run(t, nil, "go", append([]string{"test", "-work", "-count=1", "-run=^$"}, args...)...)
		work, _, _ := strings.Cut(strings.TrimPrefix(out, "WORK="), "\n")
		t.Cleanup(func() { assert.NoError(t, os.RemoveAll(work)) })
		return filepath.Join(work, "b001")
	}
	folder := build()
	run := func() string {
		t.Helper()
		require.NoError(t, os.RemoveAll(p.cache))
		return p.run(t, nil, filepath.Join(folder, "probe.test"), "-test.v", "-test.run=Own")
	}
	out := run()
	require.Contains(t, out, "PROBE checked twin")
	require.NotContains(t, out, byGoCommand)

	other, err := os.ReadFile(filepath.Join(build("-tags=special"), "importcfg.link"))
	require.NoError(t, err)
	list := filepath.Join(folder, "importcfg.link")
	sound, err := os.ReadFile(list)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(list, other, 0o600))
	out = run()
	require.Contains(t, out, byGoCommand)
	require.Regexp(t, `linking it again gave another program: it is not the same program: section \.(go\.buildinfo|rodata) is at `, out) // Go 1.26, 1.27
	require.Contains(t, out, "PROBE checked twin")

	require.NoError(t, os.WriteFile(list, append([]byte("packagefile a.test=/does/not/exist\n"), sound...), 0o600))
	out = run()
	require.Contains(t, out, "/does/not/exist")
	require.Contains(t, out, "PROBE checked twin")

	require.NoError(t, os.WriteFile(list, sound, 0o600))
	p.write(t, "more.go", "package probe\n\nvar More = []*int{new(int)}\n")
	out = run() // Relink does not read the source
	require.Contains(t, out, "PROBE checked twin")
	require.NotContains(t, out, byGoCommand)
}

func TestTwinFromAnotherFolder(t *testing.T) {
	require.Slow(t)
	p := newProbe(t)
	out := p.runIn(t, t.TempDir(), nil, "go", "-C", p.dir, "test", "-v", "./ext", ".")
	require.Equal(t, 2, strings.Count(out, "PROBE checked twin"), out)
}

func TestTwinOfFiles(t *testing.T) {
	needLong(t)
	p := newProbe(t)
	out := p.runIn(t, filepath.Join(p.dir, "ext"), nil, "go", "test", "-v", "ext_test.go")
	require.Contains(t, out, "PROBE checked twin")
}

func TestOwnDWARF(t *testing.T) {
	require.Slow(t)
	p := newProbe(t)
	out := p.run(t, nil, "go", "test", "-v", "-ldflags=-s=0 -w=0")
	require.Contains(t, out, "PROBE checked own")
	out = p.run(t, nil, "go", "test", "-v", "-count=1", "-ldflags=-s=0 -w=0")
	require.Contains(t, out, "PROBE checked cache")
}

// TestTwinIsRefused runs a stripped test binary by hand, in conditions in which it cannot be linked
// again.
func TestTwinIsRefused(t *testing.T) {
	require.Slow(t)
	p := newProbe(t)
	binary := filepath.Join(t.TempDir(), "probe.test")
	p.run(t, nil, "go", "test", "-c", "-o", binary, "-ldflags=-s -w")
	run := func(t *testing.T, dir string, env ...string) string {
		t.Helper()
		return p.runIn(t, dir, append(env, "PROBE_RUN="+t.Name()), binary, "-test.v", "-test.run=Own")
	}
	t.Run("elsewhere", func(t *testing.T) {
		out := run(t, t.TempDir())
		require.Contains(t, out, "its source was not found from ")
		require.Contains(t, out, "run it with go test in its source tree")
	})
	t.Run("no time", func(t *testing.T) {
		out := run(t, p.dir, "PROBE_TIMEOUT=1ms")
		require.Contains(t, out, "PROBE error")
		require.Contains(t, out, context.DeadlineExceeded.Error())
	})
	t.Run("another toolchain", func(t *testing.T) {
		// The only go command is one of another version.
		root := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(root, "bin"), 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(root, "bin", "go"), []byte("#!/bin/sh\necho go1.2.3\n"), 0o777))
		out := run(t, p.dir, "GOROOT="+root, "PATH="+filepath.Join(root, "bin"))
		require.Contains(t, out, "no go command of the version that built it")
		require.Contains(t, out, "go1.2.3")
		require.Contains(t, out, "-ldflags='-s=0 -w=0'")
	})
	t.Run("no toolchain", func(t *testing.T) {
		out := run(t, p.dir, "GOROOT="+t.TempDir(), "PATH="+t.TempDir())
		require.Contains(t, out, "no go command was found")
	})
	t.Run("changed source", func(t *testing.T) {
		p.write(t, "more.go", "package probe\n\nvar More = []*int{new(int)}\n")
		out := run(t, p.dir)
		require.Contains(t, out, "linking it again gave another program")
		require.Contains(t, out, "run go test again")
	})
	t.Run("broken source", func(t *testing.T) {
		p.write(t, "more.go", "package probe\n\nvar More int = nothing\n")
		out := run(t, p.dir)
		require.Contains(t, out, "could not be linked again")
		require.Contains(t, out, "undefined: nothing")
	})
	t.Run("same source", func(t *testing.T) {
		require.NoError(t, os.Remove(filepath.Join(p.dir, "more.go")))
		require.Contains(t, run(t, p.dir), "PROBE checked twin")
	})
	t.Run("deleted source", func(t *testing.T) {
		require.NoError(t, os.RemoveAll(p.cache))
		require.NoError(t, os.Remove(filepath.Join(p.dir, "go.mod")))
		require.Contains(t, run(t, p.dir), "its source was not found from ")
	})
	left, err := filepath.Glob(filepath.Join(p.cache, "debuginfo", "*tmp*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func needLong(t *testing.T) {
	t.Helper()
	if !progtest.Long() {
		t.Skip("set LEAKGATE_LONG=1 to run this")
	}
}
