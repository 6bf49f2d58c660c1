package debuginfo

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/symindex"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// Types of the program that app makes.
const (
	_ TypeID = iota
	server
	conns
	connPointer
	conn
	poolPointer
	pool
	text
	number
	base
	handler
	connSlice
	connArray
	callback
	framed
	pair
	holder
	nodeArray
	node
	typeCount = iota
)

// app is the index of a program whose source lies in a folder.
func app(dir string) *Inventory {
	types := []Type{
		{ID: server, Name: "example.com/app.Server", Kind: reflect.Struct, Fields: []Field{
			{Name: "conns", Type: conns},
			{Name: "base", Type: base, Embedded: true},
			{Name: "_", Type: number},
			{Name: "h", Type: handler},
			{Name: "fixed", Type: connArray},
			{Name: "list", Type: connSlice},
			{Name: "pair", Type: pair},
		}},
		{ID: conns, Name: "map[string]*example.com/app.Conn", Kind: reflect.Map, Key: text, Elem: connPointer},
		{ID: connPointer, Name: "*example.com/app.Conn", Kind: reflect.Pointer, Elem: conn},
		{ID: conn, Name: "example.com/app.Conn", Kind: reflect.Struct, Fields: []Field{{Name: "id", Type: text}, {Name: "pool", Type: poolPointer}}},
		{ID: poolPointer, Name: "*example.com/app.pool", Kind: reflect.Pointer, Elem: pool},
		{ID: pool, Name: "example.com/app.pool", Kind: reflect.Struct, Fields: []Field{{Name: "idle", Type: connSlice}}},
		{ID: text, Name: "string", Kind: reflect.String},
		{ID: number, Name: "int", Kind: reflect.Int},
		{ID: base, Name: "example.com/app.base", Kind: reflect.Struct, Fields: []Field{{Name: "log", Type: text}, {Name: "pool", Type: poolPointer, Embedded: true}}},
		{ID: handler, Name: "example.com/app.Handler", Kind: reflect.Interface},
		{ID: connSlice, Name: "[]*example.com/app.Conn", Kind: reflect.Slice, Elem: connPointer},
		{ID: connArray, Name: "[4]example.com/app.Conn", Kind: reflect.Array, Elem: conn, Len: 4},
		{ID: callback, Name: "func(int)", Kind: reflect.Func},
		// a struct that begins with a Conn: a pointer to the latter may lead into one
		{ID: framed, Name: "example.com/app.framed", Kind: reflect.Struct, Fields: []Field{{Name: "frame", Type: number}, {Name: "head", Type: connArray}}},
		{ID: pair, Name: "example.com/app.Pair[int]", Kind: reflect.Struct, Fields: []Field{{Name: "first", Type: number}}},
		{ID: holder, Name: "example.com/app.holder", Kind: reflect.Struct, Fields: []Field{{Name: "second", Type: number}, {Name: "pair", Type: pair}}},
		{ID: nodeArray, Name: "[1]example.com/app.node", Kind: reflect.Array, Elem: node, Len: 1},
		{ID: node, Name: "example.com/app.node", Kind: reflect.Struct, Fields: []Field{{Name: "n", Type: nodeArray}, {Name: "endless", Type: number}}}, // damaged: it contains itself
	}
	everywhere := []Place{{Size: 8}}
	file := filepath.Join(dir, "app.go")
	return &Inventory{Found: []string{"example.com/app.run.late"}, Index: symindex.New(&symindex.Program{
		Types: types,
		Globals: []Global{
			{Name: "example.com/app.srv", Package: "example.com/app", Addr: 0x1000, Type: server},
			{Name: "example.com/app.other", Package: "example.com/app", Addr: 0x2000, Type: conns},
			{Name: "cache_head", Addr: 0x3000, Size: 8},
			{Name: "example.com/app..stmp_3", Package: "example.com/app", Addr: 0x4000, Size: 8},
		},
		Functions: []symindex.Function{
			{Func: Func{Name: "example.com/app.run", Package: "example.com/app", Entry: 0x100, End: 0x200, File: file, Line: 20}, Locals: []Local{
				{Name: "p", Type: poolPointer, Ranges: everywhere},
				{Name: "inRegister", Type: poolPointer},
				{Name: "c", Type: connPointer, Inline: "example.com/app.helper", Ranges: everywhere},
			}},
			{Func: Func{Name: "example.com/app.run.func1", Package: "example.com/app", Entry: 0x200, End: 0x300, File: file, Line: 25}, Locals: []Local{
				{Name: "c", Type: server, Inline: "example.com/app.helper", Ranges: everywhere},
			}},
		},
		Packages: []symindex.Package{{Path: "github.com/patrickmn/go-cache", Name: "cache"}},
	})}
}

func equals(name string) func(string) bool {
	return func(s string) bool { return s == name }
}

// A bound may name what the program has: variables of packages, also of C, and of functions, and
// values of functions that are in no variable.
func TestKnownRoot(t *testing.T) {
	p := app("")
	for name, want := range map[string]bool{
		"example.com/app.srv":            true,
		"example.com/app.sessions":       false,
		"example.com/app.run.late":       true, // found by a scan
		"cache_head":                     true,
		"C.cache_head":                   true,
		"C.example.com/app.srv":          false, // it is no symbol of C
		"finalizer queue":                true,
		"example.com/app.run.p":          true,
		"example.com/app.run.inRegister": false,
		"example.com/app.helper.c":       true,
		"example.com/app.run.c":          false, // the inlined function declares it
		"example.com/app.run.$temporary": true,
		"example.com/app.run.$defer":     true,
		"example.com/app.run":            false,
	} {
		assert.Equal(t, want, p.KnownRoot(equals(name)), name)
	}
	assert.Equal(t, []string{"example.com/app.run.late", "example.com/app.srv", "example.com/app.other"}, p.RootNames())
	assert.Equal(t, map[string]string{"github.com/patrickmn/go-cache": "cache"}, p.PackageNames())
}

// A bound may name types of the program, and functions as those of closures. No object has the type
// of an interface or a function.
func TestKnownType(t *testing.T) {
	p := app("")
	for name, want := range map[string][2]bool{
		"example.com/app.Server":         {true, true},
		"*example.com/app.Conn":          {true, true},
		"example.com/app.Sever":          {false, false},
		"example.com/app.Handler":        {true, false},
		"func(int)":                      {true, false},
		"func example.com/app.run.func1": {true, true},
		"example.com/app.run.func1":      {false, false},
	} {
		known, ofObjects := p.KnownType(equals(name))
		assert.Equal(t, want, [2]bool{known, ofObjects}, name)
	}
	known, ofObjects := p.KnownType(func(name string) bool { return strings.HasSuffix(name, "Handler") || name == "example.com/app.framed" })
	assert.True(t, known && ofObjects, "one of two types is of objects")
	names := p.TypeNames()
	assert.Len(t, names, typeCount-1)
	assert.True(t, slices.Contains(names, "map[string]*example.com/app.Conn"))
}

// A path is followed through the static types, up to the first field that a struct does not have.
func TestMissingField(t *testing.T) {
	p := app("")
	inServer := []string{"conns", "base", "base.log", "base.pool", "base.pool.idle", "h", "fixed", "list", "pair"}
	for _, c := range []struct {
		variable, path string
		want           *MissingField // nil: none is missing, or the types do not tell
	}{
		{"srv", "", nil},
		{"srv", ".conns", nil},
		{"srv", ".conns[*].id", nil},
		{"srv", ".conns[$key]", nil},
		{"srv", ".conns[$key].x", nil},
		{"srv", ".cons", &MissingField{Path: "", Name: "cons", Struct: "example.com/app.Server", Fields: inServer}},
		{"srv", ".cons[*].id", &MissingField{Path: "", Name: "cons", Struct: "example.com/app.Server", Fields: inServer}},
		{"srv", ".conns[*].buf", &MissingField{Path: ".conns[*]", Name: "buf", Struct: "example.com/app.Conn", Fields: []string{"id", "pool"}}},
		{"srv", ".conns[*].pool.idle[*].x", &MissingField{Path: ".conns[*].pool.idle[*]", Name: "x", Struct: "example.com/app.Conn", Fields: []string{"id", "pool"}}},
		{"srv", ".fixed[*].buf", &MissingField{Path: ".fixed[*]", Name: "buf", Struct: "example.com/app.Conn", Fields: []string{"id", "pool"}}},
		{"srv", ".list[*].buf", &MissingField{Path: ".list[*]", Name: "buf", Struct: "example.com/app.Conn", Fields: []string{"id", "pool"}}},
		{"srv", ".base.pool.busy", &MissingField{Path: ".base.pool", Name: "busy", Struct: "example.com/app.pool", Fields: []string{"idle"}}},
		{"srv", ".h.conns", nil},        // an interface
		{"srv", ".conns.id", nil},       // not a name of an element
		{"srv", ".conns[*].id[*]", nil}, // of a string
		{"srv", ".(*T)", nil},           // not a name of a field
		{"srv", "[cons", nil},           // not behind a point
		{"srv", ".conns[*].frame", nil}, // of the struct that the Conn may lie in
		{"srv", ".pair.second", nil},    // the same, of a generic type
		{"srv", ".conns[*].endless", &MissingField{Path: ".conns[*]", Name: "endless", Struct: "example.com/app.Conn", Fields: []string{"id", "pool"}}},
		{"other", "[*].buf", &MissingField{Path: "[*]", Name: "buf", Struct: "example.com/app.Conn", Fields: []string{"id", "pool"}}},
		{"run.p", ".busy", &MissingField{Path: "", Name: "busy", Struct: "example.com/app.pool", Fields: []string{"idle"}}},
		{"helper.c", ".id", nil},   // one of two variables has it
		{"helper.c", ".list", nil}, // the other has that
		{"helper.c", ".list2", &MissingField{Path: "", Name: "list2", Struct: "example.com/app.Server", Fields: inServer}},
		{"unknown", ".x", nil},
	} {
		assert.Equal(t, c.want, p.MissingField("example.com/app."+c.variable, c.path), c.variable+c.path)
	}
	assert.Equal(t, []TypeID{connPointer, server}, p.TypesOf("example.com/app.helper.c"))
}

// Declarations are read from the files of the package: those of its functions, and others beside
// them.
func TestDeclarationOf(t *testing.T) {
	dir := t.TempDir()
	write := func(name, src string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(src), 0o666))
		return path
	}
	file := write("app.go", "package app\n\nvar srv = &Server{}\n")
	beside := write("types.go", "package app\n\ntype Server struct {\n\tconns map[string]*Conn\n}\n\nvar other map[string]*Conn\n")
	for i := range 9 {
		write(fmt.Sprintf("types_%d.go", i), "package app\n\nvar other = 1\n") // the first in order counts
	}
	write("notes.txt", "type Conn struct {\n\tid string\n}\n")
	write("a.go", "package app\n\nvar srv, _ = 1, 2 // of another system\n")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder.go"), 0o777))
	p := app(dir)
	for name, want := range map[string]struct {
		file string
		line int
	}{
		"example.com/app.srv":                {file, 3},
		"example.com/app.other":              {beside, 7},
		"example.com/app.Server.conns":       {beside, 4},
		"example.com/app.Server.cons":        {},
		"example.com/app.Conn.id":            {}, // of no Go file
		"example.com/app..stmp_3":            {},
		"example.com/app.run.$temporary":     {file, 20},
		"example.com/app.unknown.$temporary": {},
		"example.com/app.run":                {},
		"cache_head":                         {},
		"other.org/app.Server.conns":         {},
	} {
		gotFile, line := p.Declaration(name)
		assert.Equal(t, want.file, gotFile, name)
		assert.Equal(t, want.line, line, name)
	}
	src := write("drops.go", "package app\n\nfunc f() {\n\tsrv = nil\n}\n")
	assert.True(t, Drops(src, "srv", 3, 5))
	assert.False(t, Drops(src, "other", 3, 5))
	assert.False(t, Drops("example.com/elsewhere/drops.go", "srv", 3, 5))
}
