package debuginfo

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/dwarfread"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/progtest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestMain(m *testing.M) { progtest.Main(m) }

func TestBuild(t *testing.T) {
	modes := [][]string{
		nil,
		{"-gcflags=-N -l"},
		{"-ldflags=-compressdwarf=false"},
	}
	if require.IsSlow() { // it compiles the standard library again
		modes = append(modes, []string{"-trimpath"})
	}
	if progtest.Long() {
		modes = append(modes, []string{"-race"}, []string{"-buildmode=pie"}, []string{"-gcflags=all=-N -l"}, []string{"GOEXPERIMENT=nodwarf5"},
			[]string{"GOTOOLCHAIN=go1.27.3"}, []string{"GOTOOLCHAIN=go1.27.3", "-buildmode=pie"}, []string{"-ldflags=-linkmode=external"},
			[]string{"GOARCH=arm64"}, []string{"GOARCH=arm64", "GOTOOLCHAIN=go1.27.3", "-gcflags=-N -l"})
	}
	for _, flags := range modes {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			path := progtest.Build(t, flags...)
			f := progtest.Open(t, path)
			x, err := Build(f)
			require.NoError(t, err)
			assert.Empty(t, x.Warnings())
			assert.True(t, strings.HasPrefix(x.GoVersion(), "go1.2"), x.GoVersion())
			id, err := exec.CommandContext(t.Context(), "go", "tool", "buildid", path).Output()
			require.NoError(t, err)
			assert.Equal(t, strings.TrimSpace(string(id)), x.Identity())
			checkProgTypes(t, x)
			checkProgVariables(t, f, x)
			checkProgFrame(t, x)
			checkProgClosures(t, x)
			checkProgPackages(t, x)
		})
	}
}

// otherSystems returns the environments that build for systems with other formats. They use the Go
// version of the test, which CI runs with each version, or all versions in a long test.
func otherSystems() (modes [][]string) {
	toolchains := []string{""}
	if progtest.Long() {
		toolchains = []string{" GOTOOLCHAIN=go1.26.8", " GOTOOLCHAIN=go1.27.3"}
	}
	for _, system := range []string{"GOOS=windows GOARCH=amd64", "GOOS=windows GOARCH=arm64", "GOOS=darwin GOARCH=arm64", "GOOS=darwin GOARCH=amd64"} {
		for _, toolchain := range toolchains {
			modes = append(modes, strings.Fields(system+toolchain))
		}
	}
	return modes
}

func typeOf(t *testing.T, x *Index, name string) Type {
	t.Helper()
	id, ok := x.TypeByName(name)
	require.True(t, ok, "type %s", name)
	return x.Type(id)
}

func checkProgTypes(t *testing.T, x *Index) {
	typ := typeOf(t, x, "main.T")
	assert.Equal(t, reflect.Struct, typ.Kind)
	assert.EqualValues(t, 144, typ.Size)
	var got []string
	for _, f := range typ.Fields {
		ft := x.Type(f.Type)
		got = append(got, strings.Join([]string{f.Name, ft.Kind.String(), ft.Name}, " "))
	}
	assert.Equal(t, []string{
		"Next ptr *main.T", "Name string string", "List slice []*main.T", "Table map map[string]*main.T", "Queue chan chan *main.T",
		"Call func func(*main.T) *main.T", "Any interface interface {}", "Err interface error", "Array array [3]*main.T",
		"Numbers array [2]int32", "inner struct main.inner",
	}, got)
	assert.True(t, typ.Fields[10].Embedded)
	assert.False(t, typ.Fields[0].Embedded)
	assert.EqualValues(t, 136, typ.Fields[10].Offset)

	assert.Equal(t, "*main.T", x.Type(typeOf(t, x, "[3]*main.T").Elem).Name)
	assert.EqualValues(t, 3, typeOf(t, x, "[3]*main.T").Len)
	table := typeOf(t, x, "map[string]*main.T")
	assert.Equal(t, "string", x.Type(table.Key).Name)
	assert.Equal(t, "*main.T", x.Type(table.Elem).Name)
	assert.Equal(t, "*main.T", x.Type(typeOf(t, x, "chan *main.T").Elem).Name)
	assert.Equal(t, "*main.T", x.Type(typeOf(t, x, "[]*main.T").Elem).Name)
	assert.Equal(t, typ.ID, x.Type(typeOf(t, x, "*main.T").Elem).ID)
	assert.True(t, typeOf(t, x, "error").HasMethodsIface)
	assert.False(t, typeOf(t, x, "interface {}").HasMethodsIface)
	assert.Equal(t, reflect.UnsafePointer, typeOf(t, x, "unsafe.Pointer").Kind)
	assert.Len(t, typeOf(t, x, "main.List[main.T]").Fields, 2)
	assert.NotEmpty(t, typeOf(t, x, "runtime.mheap").Fields)

	described := 0
	for id := range x.NumTypes() {
		typ := x.Type(TypeID(id + 1))
		if typ.RuntimeAddr != 0 {
			described++
			assert.Contains(t, x.TypesByHash(typ.RuntimeHash), typ.ID)
		}
	}
	assert.Greater(t, described, 100)
	assert.Empty(t, x.Type(0))
	assert.Empty(t, x.Type(TypeID(x.NumTypes()+1)))
	_, ok := x.TypeByName("main.Missing")
	assert.False(t, ok)
}

func checkProgVariables(t *testing.T, f *objfile.File, x *Index) {
	for name, typ := range map[string]string{
		"main.root": "*main.T", "main.numbers": "[4]int", "main.list": "main.List[main.T]", "main.hooks": "[]func() *main.T",
		"os.Args": "[]string", "runtime.mheap_": "runtime.mheap",
	} {
		g, ok := x.GlobalByName(name)
		if !assert.True(t, ok, name) {
			continue
		}
		assert.Equal(t, typ, x.Type(g.Type).Name)
		assert.Equal(t, x.Type(g.Type).Size, g.Size)
		assert.Equal(t, name[:strings.LastIndexByte(name, '.')], g.Package)
		in := false
		for _, name := range []string{".data", ".bss", ".noptrdata", ".noptrbss"} {
			s := f.Section(name)
			in = in || s != nil && g.Addr >= s.Addr && g.Addr+uint64(g.Size) <= s.Addr+s.Size
		}
		assert.True(t, in, "%s lies in a data section", name)
	}
	untyped := 0
	for i, g := range x.Globals() {
		if i > 0 {
			assert.LessOrEqual(t, x.Globals()[i-1].Addr, g.Addr)
		}
		if g.Type == 0 {
			untyped++
		}
	}
	assert.Positive(t, untyped, "compiler-made symbols")
	_, ok := x.GlobalByName("main.missing")
	assert.False(t, ok)
	_, ok = x.GlobalByName("")
	assert.False(t, ok)
}

func funcNamed(t *testing.T, x *Index, name string) Func {
	t.Helper()
	for _, f := range x.Funcs() {
		if f.Name == name {
			got, ok := x.FuncByPC(f.Entry + 1)
			assert.True(t, ok && got == f, "%+v", got)
			_, ok = x.FuncByPC(f.End)
			if ok {
				got, _ = x.FuncByPC(f.End)
				assert.NotEqual(t, f, got)
			}
			return f
		}
	}
	require.Fail(t, "no function "+name)
	return Func{}
}

func checkProgFrame(t *testing.T, x *Index) {
	f := funcNamed(t, x, "main.frame")
	assert.Equal(t, "main", f.Package)
	assert.Equal(t, "main.go", filepath.Base(f.File))
	assert.Positive(t, f.Line)
	locals := make(map[string]Local)
	for _, l := range x.Locals(f.Entry) {
		locals[l.Inline+"/"+l.Name] = l
		assert.Equal(t, "main.go", filepath.Base(l.File), "%+v", l)
		assert.Positive(t, l.Line, "%+v", l)
		assert.NotEqual(t, "n", l.Name, "no pointers in it")
		for _, p := range l.Ranges {
			assert.Positive(t, p.Size)
			if p.High != 0 {
				assert.GreaterOrEqual(t, p.Low, f.Entry)
				assert.LessOrEqual(t, p.High, f.End)
				assert.Less(t, p.Low, p.High)
			}
		}
	}
	escapes := locals["/escapes"]
	assert.True(t, escapes.Deref)
	assert.Equal(t, "main.T", x.Type(escapes.Type).Name)
	assert.Equal(t, "*main.T", x.Type(locals["/t"].Type).Name)
	assert.Equal(t, "[]string", x.Type(locals["/names"].Type).Name)
	assert.Nil(t, x.Locals(f.Entry+1))
	assert.Nil(t, x.Locals(0))
}

func checkProgClosures(t *testing.T, x *Index) {
	f := funcNamed(t, x, "main.closure.func1")
	got := make(map[string]Capture)
	for _, c := range x.Captures(f.Entry) {
		got[c.Name] = c
	}
	require.Len(t, got, 3)
	assert.True(t, got["count"].ByRef)
	assert.Equal(t, "int", x.Type(got["count"].Type).Name)
	assert.False(t, got["t"].ByRef)
	assert.Equal(t, "*main.T", x.Type(got["t"].Type).Name)
	assert.EqualValues(t, 8+16+24, got["count"].Offset+got["t"].Offset+got["n"].Offset)

	f = funcNamed(t, x, "main.(*T).Method-fm")
	captures := x.Captures(f.Entry)
	require.Len(t, captures, 1)
	assert.Equal(t, "$recv", captures[0].Name)
	assert.Equal(t, "*main.T", x.Type(captures[0].Type).Name)
	assert.EqualValues(t, 8, captures[0].Offset)
	assert.Nil(t, x.Captures(funcNamed(t, x, "main.main").Entry))

	wrappers := 0
	for _, f := range x.Funcs() {
		if strings.HasPrefix(f.Name, "main.methodValues[go.shape.struct {") && strings.Contains(f.Name, "].func") {
			wrappers++
			captures = x.Captures(f.Entry)
			require.Len(t, captures, 1, f.Name)
			assert.Equal(t, "$recv", captures[0].Name)
			assert.True(t, strings.HasPrefix(x.Type(captures[0].Type).Name, "*main.List[go.shape.struct {"), f.Name)
			assert.EqualValues(t, 8, captures[0].Offset)
			_, dict := x.Signature(f.Entry)
			assert.True(t, slices.ContainsFunc(dict, func(d DictType) bool { return d.Shape == captures[0].Type }), "%v", dict)
		}
	}
	assert.Equal(t, 2, wrappers)
}

// checkProgPackages checks the names of packages: for most, the last element of the import path is
// the name.
func checkProgPackages(t *testing.T, x *Index) {
	t.Helper()
	names := x.PackageNames()
	assert.Equal(t, "cache", names["example.com/prog/go-cache"])
	assert.Equal(t, "prog", names["example.com/prog/v2"])
	assert.Equal(t, "yaml", names["example.com/prog/yaml.v3"])
	for path, name := range names {
		assert.False(t, path == name || strings.HasSuffix(path, "/"+name), "%s is the name at the end of %s", name, path)
	}
	for path := range names {
		_, ok := x.GlobalByName(path + ".Table")
		assert.True(t, ok || !strings.HasPrefix(path, "example.com/"), path)
	}
}

func TestDeclaration(t *testing.T) {
	x, err := Build(progtest.Open(t, progtest.Build(t)))
	require.NoError(t, err)
	root, ok := x.GlobalByName("main.root")
	require.True(t, ok)
	file, line := Declaration(x, root)
	src, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, strings.Split(string(src), "\n")[line-1], "root    = &T{")

	for _, g := range x.Globals() {
		if g.Type == 0 && strings.Contains(g.Name, "..") {
			file, _ = Declaration(x, g)
			assert.Empty(t, file, g.Name)
			return
		}
	}
	assert.Fail(t, "no compiler-made symbol")
}

func TestDeclarationWithTrimpath(t *testing.T) {
	require.Slow(t) // it compiles the standard library again
	x, err := Build(progtest.Open(t, progtest.Build(t, "-trimpath")))
	require.NoError(t, err)
	root, ok := x.GlobalByName("main.root")
	require.True(t, ok)
	file, line := Declaration(x, root)
	assert.Empty(t, file)
	assert.Zero(t, line)
	dir, err := filepath.Abs(filepath.Join("testdata", "prog"))
	require.NoError(t, err)
	file, _ = declaration(x, root, func(name string) string { return filepath.Join(dir, filepath.Base(name)) })
	assert.Equal(t, filepath.Join(dir, "main.go"), file)
}

// TestBuildIsDeterministic builds one index with many processors and with one.
func TestBuildIsDeterministic(t *testing.T) {
	f := progtest.Open(t, progtest.Build(t))
	first, err := dwarfread.Read(f)
	require.NoError(t, err)
	for range 5 {
		again, err := dwarfread.Read(f)
		require.NoError(t, err)
		require.Equal(t, first, again)
	}
}
