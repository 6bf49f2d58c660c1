package twin

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestParseGoTest(t *testing.T) {
	for line, want := range map[string]goTest{
		"go test":                         {},
		"go test ./...":                   {},
		"go test -race .":                 {flags: []string{"-race"}},
		"go test -tags a,b -run -race -v": {flags: []string{"-tags=a,b"}},
		"go test --tags=a ./x -covermode atomic -coverpkg=./...":   {flags: []string{"-tags=a", "-covermode=atomic", "-coverpkg=./..."}},
		"go test -coverprofile c.out ./...":                        {flags: []string{"-cover"}},
		"go test -test.coverprofile=c.out":                         {flags: []string{"-cover"}},
		"go -C test test -C x -trimpath":                           {flags: []string{"-trimpath"}},
		"go test a_test.go b.go -args -race c.go":                  {files: []string{"a_test.go", "b.go"}},
		"go test -run x.go -o y.go -exec z.go -vet off -count 2 .": {},
		"go test -gcflags=all=-N -asan=false":                      {flags: []string{"-gcflags=all=-N", "-asan=false"}},
		"go test -fuzz Fuzz -fuzztime 1s -buildvcs":                {flags: []string{"-fuzz=Fuzz", "-buildvcs"}},
		"go test -json -unknown=3 -tags":                           {flags: []string{"-tags"}},
		"go":                                                       {},
		"":                                                         {},
	} {
		assert.Equal(t, want, parseGoTest(strings.Fields(line)), line)
	}
	assert.Equal(t, goTest{}, parseGoTest(nil))
}

func TestKeepDebug(t *testing.T) {
	for in, want := range map[string]string{
		"":      "",
		"-s":    "-f",
		"-s -w": "-f -f",
		"-X a.b=c -s -extldflags '-s -static' -w": "-X a.b=c -f -extldflags '-f -static' -f",
		"all=-w":                 "all=-f",
		"--s -s=true -w=1":       "--f -f=true -f=1",
		"-s=0 -w=false":          "-s=0 -w=false",
		"-X main.flag-s=x -size": "-X main.flag-s=x -size",
	} {
		got := replaceStrip(in)
		assert.Equal(t, want, got)
		assert.Len(t, got, len(in), "the text is part of the program")
	}
	assert.Equal(t, []string{"-race"}, keepDebug([]string{"-race"}, ""))
	assert.Equal(t, []string{"-ldflags=-f"}, keepDebug([]string{"-ldflags=-s"}, "-ldflags=-w"))
	assert.Equal(t, []string{"-ldflags=-f -X a.b=c"}, keepDebug(nil, `-mod=mod "-ldflags=-s -X a.b=c" -v`))
	assert.Empty(t, keepDebug(nil, "-ldflags=-X=a.b=c"), "nothing to change")
}

func TestSplitGOFLAGS(t *testing.T) {
	assert.Equal(t, []string{"-a", "-b=c d", "-e", `"open`}, splitGOFLAGS(` -a "-b=c d"  '-e' "open`))
	assert.Empty(t, splitGOFLAGS("  "))
}

func TestSettings(t *testing.T) {
	info := &debug.BuildInfo{Settings: []debug.BuildSetting{
		{Key: "-buildmode", Value: "exe"},
		{Key: "-compiler", Value: "gc"},
		{Key: "-race", Value: "true"},
		{Key: "-ldflags", Value: "-X a.b=c"},
		{Key: "DefaultGODEBUG", Value: "x=1"},
		{Key: "CGO_ENABLED", Value: "1"},
		{Key: "CGO_CFLAGS", Value: ""},
		{Key: "GOAMD64", Value: "v2"},
		{Key: "vcs.revision", Value: "abc"},
	}}
	assert.Equal(t, []string{"-race=true", "-ldflags=-X a.b=c"}, settingsFlags(info))
	assert.Equal(t, []string{"CGO_ENABLED=1", "GOAMD64=v2"}, settingsEnv(info))
}

func TestFindGoFails(t *testing.T) {
	// The go command starts a process of its telemetry that goes on writing below HOME.
	inv := &invocation{dir: t.TempDir(), env: []string{"PATH=" + t.TempDir(), "HOME=" + os.DevNull}}
	err := inv.findGo(t.Context(), "go1.1")
	var u *Unavailable
	require.ErrorAs(t, err, &u)
	assert.Contains(t, u.Cause, "no go command")
	assert.Contains(t, u.Remedy, "put go 1.1 in PATH")

	inv = &invocation{dir: t.TempDir() + "/gone"}
	require.ErrorAs(t, inv.findGo(t.Context(), "go1.1"), &u)
	assert.Contains(t, u.Cause, "is gone")
}

func TestExplain(t *testing.T) {
	inv := &invocation{goTool: "go", dir: "here"}
	var u *Unavailable
	require.ErrorAs(t, inv.explain(nil, "go: go.mod file not found in current directory", assert.AnError), &u)
	assert.Contains(t, u.Cause, "source was not found from here")
	require.ErrorAs(t, inv.explain([]string{"test"}, "x.go:1: syntax error\n"+strings.Repeat("more\n", 30), assert.AnError), &u)
	assert.Contains(t, u.Error(), "syntax error")
	assert.Contains(t, u.Error(), "more lines")
	require.ErrorIs(t, u, assert.AnError)
}

func TestSourceFile(t *testing.T) {
	for name, c := range map[string]struct{ trimmed, pkg, dir, want string }{
		"same package":    {"example.com/m/a/b/x.go", "example.com/m/a/b", "/src/m/a/b", "/src/m/a/b/x.go"},
		"other package":   {"example.com/m/c/x.go", "example.com/m/a/b", "/src/m/a/b", "/src/m/c/x.go"},
		"root":            {"example.com/m/x.go", "example.com/m", "/src", "/src/x.go"},
		"other module":    {"example.com/n@v1.0.0/x.go", "example.com/m/a", "/src/m/a", ""},
		"other folder":    {"example.com/m/x.go", "example.com/m/a", "/tmp", ""},
		"standard":        {"fmt/print.go", "example.com/m/a", "/src/m/a", ""},
		"foreign package": {"example.com/m/x.go", "example.com/n", "/src/m/a", ""},
	} {
		assert.Equal(t, filepath.FromSlash(c.want), sourceFile(c.trimmed, "example.com/m", c.pkg, filepath.FromSlash(c.dir)), name)
	}
}

func TestRelease(t *testing.T) {
	for version, want := range map[string]string{
		"go1.26.8": "go1.26.8", "go1.26.8 X:a,b": "go1.26.8", "go1.26.8-X:nodwarf5": "go1.26.8", "devel go1.28-0123456": "devel go1.28-0123456",
	} {
		assert.Equal(t, want, release(version))
	}
}
