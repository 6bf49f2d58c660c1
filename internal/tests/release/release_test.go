package release_test

import (
	"go/version"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
)

// lowestGo is the go line of the main module: a user's lower go line goes up to it.
const lowestGo = "1.24"

// usersModules are modules that users already require, in old versions.
var usersModules = map[string]string{
	"github.com/stretchr/testify": "v1.8.0",
	"golang.org/x/sys":            "v0.1.0",
	"golang.org/x/text":           "v0.4.0",
}

// TestGetLibrary adds leakcheck to modules of users: it changes no version that they have, and adds
// a line to go.mod and two to go.sum.
func TestGetLibrary(t *testing.T) {
	p := newProxy(t)
	for path, version := range usersModules {
		p.serveStandIn(t, path, version)
	}
	for _, goLine := range []string{"1.12", "1.19", "1.24", "1.24.3", "1.26"} {
		for name, has := range map[string]map[string]string{"nothing": nil, "old versions": usersModules} {
			t.Run("go "+goLine+" with "+name, func(t *testing.T) { getLibrary(t, p, goLine, has) })
		}
	}
}

func getLibrary(t *testing.T, p *proxy, goLine string, has map[string]string) {
	goMod, code := "module example.com/app\n\ngo "+goLine+"\n", "package app\n"
	for path, version := range has {
		goMod += "\nrequire " + path + " " + version + "\n"
		code += "\nimport _ \"" + path + "\"\n"
	}
	dir := writeFiles(t, map[string]string{"go.mod": goMod, "app.go": code})
	p.run(t, dir, "mod", "tidy")
	_, sums := readModule(t, dir)

	p.run(t, dir, "get", library+"/leakcheck")
	check := func(when string) {
		mod, now := readModule(t, dir)
		wantGo := goLine
		if version.Compare("go"+goLine, "go"+lowestGo) < 0 {
			wantGo = lowestGo
		}
		require.Equal(t, wantGo, mod.Go.Version, when)
		require.Nil(t, mod.Toolchain, when)
		versions := make(map[string]string)
		for _, r := range mod.Require {
			versions[r.Mod.Path] = r.Mod.Version
		}
		want := map[string]string{library: p.version}
		for path, version := range has {
			want[path] = version
		}
		require.Equal(t, want, versions, when)
		var added []string
		for line := range now {
			if !sums[line] {
				added = append(added, line)
			}
		}
		require.Len(t, added, 2, "lines of go.sum %s", when)
	}
	check("after go get")

	test := "package app\n\nimport (\n\t\"testing\"\n\n\t\"" + library + "/leakcheck\"\n)\n\n" +
		"func TestRetained(t *testing.T) { leakcheck.AssertRetained(t, leakcheck.TypeNamed(\"app.T\").None()) }\n\ntype T struct{ p *T }\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "app_test.go"), []byte(test), 0o666))
	p.run(t, dir, "mod", "tidy")
	check("after go mod tidy")
	p.run(t, dir, "build", library+"/leakcheck")
}

func readModule(t *testing.T, dir string) (mod *modfile.File, sums map[string]bool) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	require.NoError(t, err)
	mod, err = modfile.Parse("go.mod", content, nil)
	require.NoError(t, err)
	sums = make(map[string]bool)
	content, err = os.ReadFile(filepath.Join(dir, "go.sum"))
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	for line := range strings.Lines(string(content)) {
		sums[line] = true
	}
	return mod, sums
}

// TestGetCommand installs and runs the command in each way that the documents name, outside the
// repository.
func TestGetCommand(t *testing.T) {
	p := newProxy(t)
	want := "leakgate " + p.version + " go"
	empty := writeFiles(t, nil)
	require.Contains(t, p.run(t, empty, "run", command+"@latest", "version"), want, "go run")
	require.Contains(t, p.run(t, empty, "run", command+"@"+p.version, "version"), want, "go run")

	p.run(t, empty, "install", command+"@latest")
	require.FileExists(t, filepath.Join(p.cache, "bin", "leakgate"))

	dir := writeFiles(t, map[string]string{"go.mod": "module example.com/app\n\ngo 1.26.0\n", "app.go": "package app\n"})
	p.run(t, dir, "get", "-tool", command+"@latest")
	require.Contains(t, p.run(t, dir, "tool", "leakgate", "version"), want, "go tool")
	mod, _ := readModule(t, dir)
	require.Len(t, mod.Tool, 1)
	for _, r := range mod.Require {
		if r.Mod.Path == library {
			require.Equal(t, p.version, r.Mod.Version, "the library comes in the version that fits the command")
			return
		}
	}
	require.Fail(t, "go get -tool has not brought the library")
}

// TestRunInModule runs the command by its version in a module that requires only the library: it
// finds a leak, and leaves go.mod and go.sum as they are.
func TestRunInModule(t *testing.T) {
	p := newProxy(t)
	const test = `package app

import (
	"testing"

	"github.com/leakgate/leakgate/leakcheck"
)

var kept = new([100]*int)

func TestLeak(t *testing.T) { leakcheck.AssertRetained(t, leakcheck.Root("app.kept").None()) }
`
	dir := writeFiles(t, map[string]string{"go.mod": "module example.com/app\n\ngo 1.24\n", "app.go": "package app\n", "app_test.go": test})
	p.run(t, dir, "mod", "tidy")
	mod, sums := readModule(t, dir)
	out, err := p.command(t, dir, "run", command+"@latest", "run", "./...").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "retention regression (exit 1)")
	require.Contains(t, string(out), "exit status 1\n")
	afterMod, afterSums := readModule(t, dir)
	require.Equal(t, mod.Syntax, afterMod.Syntax)
	require.Equal(t, sums, afterSums)
}
