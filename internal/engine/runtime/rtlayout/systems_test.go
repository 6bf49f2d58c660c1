package rtlayout_test

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile/anyfile"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// systemDependent are the names that some systems do not have, or have with other fields.
var systemDependent = map[string]bool{
	"runtime.argslice": true, // what is hidden is only where it is
	"runtime.mOS":      true, // asked for by fields that may be absent
}

// TestOtherSystemsHaveTheNames takes all names of runtime variables and types in the engine's
// source that a program for Linux has. The debug information of the same program for Windows and
// macOS must have these names too, and the types with the same fields.
func TestOtherSystemsHaveTheNames(t *testing.T) {
	require.Slow(t)
	linux := indexFor(t, "linux/amd64")
	var variables, types []string
	for name := range namesInSource(t) {
		if systemDependent[name] {
			continue
		}
		if _, ok := linux.GlobalByName(name); ok {
			variables = append(variables, name)
		}
		if _, ok := linux.TypeByName(name); ok {
			types = append(types, name)
		}
	}
	slices.Sort(variables)
	slices.Sort(types)
	t.Logf("%d variables: %s", len(variables), variables)
	t.Logf("%d types: %s", len(types), types)
	require.Greater(t, len(variables), 15)
	require.Greater(t, len(types), 30)
	for _, system := range []string{"windows/amd64", "windows/arm64", "darwin/arm64", "darwin/amd64"} {
		t.Run(system, func(t *testing.T) {
			there := indexFor(t, system)
			assert.Empty(t, there.Warnings())
			for _, name := range variables {
				g, ok := there.GlobalByName(name)
				assert.True(t, ok && g.Addr != 0 && g.Size > 0, "variable %s: %+v", name, g)
			}
			for _, name := range types {
				_, ok := there.TypeByName(name)
				assert.True(t, ok, "type %s", name)
				assert.Equal(t, fieldsOf(linux, name), fieldsOf(there, name), name)
			}
		})
	}
}

// namesInSource returns the strings in the source of the engine and of the packages above it that
// may name a variable or a type of the runtime.
func namesInSource(t *testing.T) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	literal := regexp.MustCompile(`"((?:internal/)?[a-z/]+\.[A-Za-z_]\w*)"`)
	for _, folder := range []string{"internal/engine", "refscan", "leakcheck"} {
		root := filepath.Join("..", "..", "..", "..", folder)
		require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range literal.FindAllSubmatch(text, -1) {
				names[string(m[1])] = true
			}
			return err
		}))
	}
	return names
}

// fieldsOf lists a type's fields by name.
func fieldsOf(x *debuginfo.Index, name string) []string {
	fields := make(map[string]bool)
	id, _ := x.TypeByName(name)
	for _, f := range x.Type(id).Fields {
		fields[f.Name] = true
	}
	return slices.Sorted(maps.Keys(fields))
}

// indexFor builds a program for a system and reads its debug information. A finalizer, a map, a
// channel and a cleanup bring all the types into it.
func indexFor(t *testing.T, system string) *debuginfo.Index {
	t.Helper()
	const program = `package main

import "runtime"

func main() {
	c := make(chan map[string]*int, 1)
	x := new(int)
	runtime.SetFinalizer(x, func(*int) {})
	runtime.AddCleanup(new(int), func(c chan map[string]*int) {}, c)
	c <- map[string]*int{"x": x}
	defer func() { recover() }()
	go func() { println(len(<-c)) }()
	select {}
}
`
	goos, goarch, _ := strings.Cut(system, "/")
	source, binary := filepath.Join(t.TempDir(), "main.go"), filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(source, []byte(program), 0o666))
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", binary, source)
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	f, err := anyfile.Open(binary)
	require.NoError(t, err)
	defer f.Close()
	x, err := debuginfo.Build(f)
	require.NoError(t, err)
	return x
}
