package source

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Of each pair of similar declarations, only tests use the first.
func TestOnlyTests(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte(`package a

type source interface{ start() }

type fakeSource struct{ next *fakeSource }

var _ source = (*fakeSource)(nil)

func (f *fakeSource) start() { go func() { new(fakeSource).start() }() }

type realSource struct{}

func (*realSource) start() { go func() {}() }

func New(s source) source {
	if f, ok := s.(*fakeSource); ok {
		return f
	}
	switch s := s.(type) {
	case *fakeSource:
		return s
	}
	return &realSource{}
}

type decoded struct{}

func (*decoded) start() { go func() {}() }

type Message struct{ D *decoded }

type converted struct{}

func (*converted) start() { go func() {}() }

func convert(m *Message) { (*converted)(m).start() }

type generic[T any] struct{}

func (*generic[T]) start() { go func() {}() }

func startFake(n int) {
	if n > 0 {
		startFake(n - 1)
	}
	go func() {}()
}

func startReal() { go func() {}() }

func startLinked() { go func() {}() }

func Start() { go startReal() }

func init() { go func() {}() }

var handlers = []func(){startHandler}

func startHandler() {}
`), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.go"), []byte("package a\n\nimport _ \"unsafe\"\n\n//go:linkname startLinked\n"), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a_test.go"), []byte("package a\n\nvar _ = New(&fakeSource{})\n\nfunc helper() { startFake(1) }\n"), 0o666))
	f := &Finder{Dirs: map[string]string{"example.com/a": dir}}
	for function, want := range map[string]string{
		"example.com/a.(*fakeSource).start.func1": "a.fakeSource",
		"example.com/a.(*fakeSource).start":       "a.fakeSource",
		"example.com/a.startFake.func1":           "a.startFake",
		"example.com/a.(*generic[...]).start":     "a.generic",
		"example.com/a.(*realSource).start.func1": "",
		"example.com/a.(*decoded).start":          "",
		"example.com/a.(*converted).start":        "",
		"example.com/a.startReal":                 "",
		"example.com/a.startLinked":               "",
		"example.com/a.startHandler":              "",
		"example.com/a.Start.func1":               "",
		"example.com/a.init.0.func1":              "",
		"example.com/a.glob..func1":               "",
		"example.com/a.func1.Start.1":             "",
		"example.com/a.helper.Start.func1":        "",
		"example.com/other.startFake":             "",
		"example.com/a/in.startFake":              "",
		"net/http.(*persistConn).readLoop":        "",
		"":                                        "",
	} {
		require.Equal(t, want, f.OnlyTests(function), function)
	}
}

// Nothing is known of a package that cannot be parsed.
func TestDamagedSource(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n\nfunc start() {}\n"), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.go"), []byte("package a\n\nfunc {\n"), 0o666))
	require.Empty(t, (&Finder{Dirs: map[string]string{"example.com/a": dir}}).OnlyTests("example.com/a.start"))
}

// TestsAssign finds assignments in tests by the variable's name, or by its package's and its name.
func TestAssigned(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.go":             "package a\n\nvar Output, input, Log, local int\n\nfunc set() { input = 1 }\n",
		"a_test.go":        "package a\n\nfunc f() { Output, _ = 1, 2; local := 3; _ = local }\n",
		"b_test.go":        "package a_test\n\nimport \"example.com/a\"\n\nfunc f() { a.Log = 1 }\n",
		"in/in_test.go":    "package in\n\nimport \"example.com/a\"\n\nfunc f() { a.Output = 1 }\n",
		"other/in_test.go": "package other\n\nfunc f(x struct{ Output int }) { x.Output = 1 }\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o777))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o666))
	}
	f := &Finder{Dirs: map[string]string{"example.com/a": dir}}
	for variable, want := range map[string]bool{
		"example.com/a.Output": true, "example.com/a.Log": true, "example.com/a.input": false, "example.com/a.local": false,
	} {
		require.Equal(t, want, f.TestsAssign(variable, "example.com/a"), variable)
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "a_test.go")))
	f = &Finder{Dirs: f.Dirs}
	require.True(t, f.TestsAssign("example.com/a.Output", "example.com/a/in"))
	require.False(t, f.TestsAssign("example.com/a.Output", "example.com/a/other"))
}
