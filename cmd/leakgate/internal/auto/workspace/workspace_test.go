package workspace

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/source"
)

// The embedded library has each file that leakcheck is compiled from, on any system.
func TestSourcesAreWhole(t *testing.T) {
	files, err := sources()
	require.NoError(t, err)
	have := make(map[string]bool)
	for _, f := range files {
		have[f.name] = true
	}
	out, err := exec.Command("go", "list", "-deps", "-f",
		"{{if not .Standard}}{{$p := .ImportPath}}{{range .GoFiles}}{{$p}}/{{.}}\n{{end}}{{range .SFiles}}{{$p}}/{{.}}\n{{end}}{{range .IgnoredGoFiles}}{{$p}}/{{.}}\n{{end}}{{range .EmbedFiles}}{{$p}}/{{.}}\n{{end}}{{end}}",
		modulePath+"/leakcheck").Output()
	require.NoError(t, err)
	names := strings.Fields(string(out))
	require.Greater(t, len(names), 100)
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			require.True(t, have[strings.TrimPrefix(name, modulePath+"/")], "sources.go of the main module embeds no %s", name)
		}
	}
	require.True(t, have["go.mod"] && have["leakcheck/repeat/run.go"])
	for name := range have {
		require.NotEqual(t, "_test.go", path.Base(name))
	}
}

// The workspace file keeps the defaults of the go line.
func TestText(t *testing.T) {
	s := workFile{goVersion: "1.24.0", toolchain: "go1.26.8", use: []string{"/x y/app"}, replace: []replacement{
		{moduleVersion{"example.com/a", ""}, moduleVersion{"/a", ""}}, {moduleVersion{"example.com/b", "v1.0.0"}, moduleVersion{"example.com/c", "v1.2.0"}},
	}}
	s.atLeast("1.19")
	s.defaultOf("1.19")
	s.atLeast("1.25.1")
	require.Equal(t, `go 1.25.1
toolchain go1.26.8
godebug default=go1.19
use "/x y/app"
replace "example.com/a" => "/a"
replace "example.com/b" v1.0.0 => "example.com/c" v1.2.0
`, s.text())

	s = workFile{goVersion: "1.24.0", godebug: []setting{{"default", "go1.21"}, {"panicnil", "1"}}}
	s.defaultOf("1.25")
	require.Equal(t, "go 1.24.0\ngodebug default=go1.21\ngodebug panicnil=1\n", s.text())
}

func TestWithoutMod(t *testing.T) {
	require.Equal(t, "-tags=a -race", withoutMod("-tags=a -mod=mod -race"))
	require.Equal(t, "'-ldflags=-X a=b'", withoutMod("--mod=vendor '-ldflags=-X a=b'"))
}

// Generated code uses all its imports, whatever there is to register.
func TestGenerate(t *testing.T) {
	require.Contains(t, generate(source.Functions{Name: "a", Tests: []string{"TestX"}}, true), `{Name: "TestX", F: TestX}`)
	require.NotContains(t, generate(source.Functions{Name: "a_test"}, false), "func Test")
	require.Contains(t, generate(source.Functions{Name: "a_test"}, false), "var _ leakgatetesting.T\n")
}

// The vendor folder has links to all but leakgate, and the modules beside it.
func TestVendorWithoutLeakgate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	users, work := filepath.Join(t.TempDir(), "vendor"), t.TempDir()
	for _, name := range []string{"modules.txt", "github.com/leakgate/leakgate/leakcheck/a.go", "github.com/leakgate/other/a.go", "example.com/a.go"} {
		file := filepath.Join(users, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o777))
		require.NoError(t, os.WriteFile(file, nil, 0o666))
	}
	require.NoError(t, vendor(work, users, nil))
	require.FileExists(t, filepath.Join(work, "vendor", "modules.txt"))
	require.FileExists(t, filepath.Join(work, "vendor", "example.com", "a.go"))
	require.FileExists(t, filepath.Join(work, "vendor", "github.com", "leakgate", "other", "a.go"))
	require.NoDirExists(t, filepath.Join(work, "vendor", "github.com", "leakgate", "leakgate"))
}

// Folders are relative to the workspace, unless the workspace file has absolute ones.
func TestMovedList(t *testing.T) {
	require.Equal(t, `## workspace
# example.com/a v1.0.0
## explicit; go 1.20
# example.com/b v0.0.0 => ../home/dep
# example.com/c => /home/app/in
# example.com/d v1.0.0 => example.com/e v1.2.0
# example.com/f v1.0.0 => /f
# github.com/leakgate/leakgate v0.9.0
## explicit; go 1.24
# github.com/leakgate/leakgate/cmd/leakgate v0.9.0
github.com/leakgate/leakgate/cmd/leakgate
`, relocateModulesTxt(`# example.com/a v1.0.0
## explicit; go 1.20
# example.com/b v0.0.0 => ../dep
# example.com/c => ./in
# example.com/d v1.0.0 => example.com/e v1.2.0
# example.com/f v1.0.0 => /f
# github.com/leakgate/leakgate v0.9.0 => ../leakgate
## explicit; go 1.24
github.com/leakgate/leakgate/leakcheck
# github.com/leakgate/leakgate/cmd/leakgate v0.9.0
github.com/leakgate/leakgate/cmd/leakgate
# github.com/leakgate/leakgate => ../leakgate
`, "/home/app", "/tmp", map[string]bool{"example.com/c": true}))
}
