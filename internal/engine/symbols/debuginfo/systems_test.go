package debuginfo

import (
	"debug/gosym"
	"debug/macho"
	"debug/pe"
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/twin"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/progtest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// TestOtherSystems builds a test for systems with other formats: as go test runs it, and its twin.
// It checks the twin. It compares the twin's index with the source, and with the file as the
// standard library reads it: the symbol table, the function table, the type descriptors.
func TestOtherSystems(t *testing.T) {
	require.Slow(t)
	for _, env := range otherSystems() {
		t.Run(strings.Join(env, " "), func(t *testing.T) {
			program := progtest.Open(t, progtest.Build(t, env...))
			x, err := Build(program)
			require.NoError(t, err)
			checkProgTypes(t, x)
			checkProgVariables(t, program, x)
			checkProgFrame(t, x)
			checkProgClosures(t, x)
			checkProgPackages(t, x)

			original, relinked := progtest.BuildTest(t, env...)
			stripped, file := progtest.Open(t, original), progtest.Open(t, relinked)
			require.False(t, stripped.HasDWARF(), "go test strips")
			require.NoError(t, twin.Check(stripped, file))
			require.ErrorIs(t, twin.Check(stripped, program), twin.ErrDiffers)
			x, err = Build(file)
			require.NoError(t, err)
			assert.Empty(t, x.Warnings())
			root, ok := x.GlobalByName("example.com/prog.root")
			require.True(t, ok)
			source, line := Declaration(x, root)
			text, err := os.ReadFile(source)
			require.NoError(t, err)
			assert.Contains(t, strings.Split(string(text), "\n")[line-1], "root    = &T{")

			raw := readRaw(t, relinked)
			checkAddresses(t, x, raw)
			checkFunctions(t, x, raw)
			checkDescriptors(t, x, raw)
		})
	}
}

// rawFile is an executable as the standard library reads it.
type rawFile struct {
	symbols  map[string]uint64
	sections map[uint64][]byte // by address
}

// at returns the bytes from an address to the end of its section.
func (r *rawFile) at(addr uint64) []byte {
	for base, b := range r.sections {
		if addr >= base && addr-base < uint64(len(b)) {
			return b[addr-base:]
		}
	}
	return nil
}

func readRaw(t *testing.T, path string) *rawFile {
	t.Helper()
	r := &rawFile{make(map[string]uint64), make(map[uint64][]byte)}
	if p, err := pe.Open(path); err == nil {
		defer p.Close()
		base := p.OptionalHeader.(*pe.OptionalHeader64).ImageBase
		for _, s := range p.Sections {
			if b, err := s.Data(); err == nil {
				r.sections[base+uint64(s.VirtualAddress)] = b
			}
		}
		for _, s := range p.Symbols {
			if s.SectionNumber > 0 {
				r.symbols[symbol.Unescape(s.Name)] = base + uint64(p.Sections[s.SectionNumber-1].VirtualAddress) + uint64(s.Value)
			}
		}
		return r
	}
	m, err := macho.Open(path)
	require.NoError(t, err)
	defer m.Close()
	for _, s := range m.Sections {
		if b, err := s.Data(); err == nil && s.Offset > 0 {
			r.sections[s.Addr] = b
		}
	}
	for _, s := range m.Symtab.Syms {
		name := symbol.Unescape(s.Name)
		if !strings.Contains(name, ".") {
			name = strings.TrimPrefix(name, "_") // C's names begin with one
		}
		r.symbols[name] = s.Value
	}
	return r
}

// checkAddresses compares the addresses of variables with the symbol table.
func checkAddresses(t *testing.T, x *Index, raw *rawFile) {
	typed := 0
	for _, g := range x.Globals() {
		if g.Type == 0 {
			continue
		}
		typed++
		addr, ok := raw.symbols[g.Name]
		assert.True(t, ok, "%s is in the symbol table", g.Name)
		assert.Equal(t, addr, g.Addr, g.Name)
	}
	assert.Greater(t, typed, 300)
	end := uint64(0) // end of the previous variable
	for _, g := range x.Globals() {
		if g.Type != 0 || g.Size > 0 && strings.Contains(g.Name, "..typeAssert.") {
			assert.LessOrEqual(t, end, g.Addr, "%s is beside the one before", g.Name)
			end = g.Addr + uint64(g.Size)
		}
	}
}

// checkFunctions compares entries, names and files of functions with the function table.
func checkFunctions(t *testing.T, x *Index, raw *rawFile) {
	data := raw.at(raw.symbols["runtime.pclntab"])
	require.NotEmpty(t, data)
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, raw.symbols["runtime.text"]))
	require.NoError(t, err)
	files := 0
	for _, want := range table.Funcs {
		if want.Name == "go:buildid" {
			continue
		}
		got, ok := x.FuncByPC(want.Entry)
		if !assert.True(t, ok, want.Name) || strings.Contains(want.Name, "[") {
			continue
		}
		assert.Equal(t, want.Entry, got.Entry, want.Name)
		assert.Equal(t, symbol.Unescape(want.Name), got.Name)
		if file, _, _ := table.PCToLine(want.Entry); file == filepath.ToSlash(got.File) {
			files++
		}
	}
	assert.Greater(t, len(table.Funcs), 1500)
	assert.Greater(t, files, len(table.Funcs)*8/10, "functions with the file that the function table has")
}

// checkDescriptors compares types with the descriptors at their addresses (internal/abi/type.go):
// by size, kind, hash and name.
func checkDescriptors(t *testing.T, x *Index, raw *rawFile) {
	const hash, flags, kind, str, extraStar = 16, 20, 23, 40, 1 << 1
	structs := 0
	for id := range x.NumTypes() {
		typ := x.Type(TypeID(id + 1))
		if typ.RuntimeAddr == 0 {
			continue
		}
		b := raw.at(typ.RuntimeAddr)
		require.NotEmpty(t, b, typ.Name)
		assert.Equal(t, uint64(typ.Size), binary.LittleEndian.Uint64(b), typ.Name)
		assert.Equal(t, typ.Kind, reflect.Kind(b[kind]&31), typ.Name)
		assert.Equal(t, typ.RuntimeHash, binary.LittleEndian.Uint32(b[hash:]), typ.Name)
		if typ.Kind != reflect.Struct || strings.ContainsAny(typ.Name, "[ {") {
			continue
		}
		structs++
		name := raw.at(raw.symbols["runtime.types"] + uint64(binary.LittleEndian.Uint32(b[str:])))
		n, used := binary.Uvarint(name[1:])
		got := string(name[1+used:][:n])
		if b[flags]&extraStar != 0 {
			got = got[1:]
		}
		// the last element of the path need not be the package's name, and types in functions have
		// a number
		_, got, _ = strings.Cut(got, ".")
		want, _, _ := strings.Cut(typ.Name[strings.LastIndexByte(typ.Name, '.')+1:], "·")
		assert.Equal(t, want, got, typ.Name)
	}
	assert.Greater(t, structs, 100)
}
