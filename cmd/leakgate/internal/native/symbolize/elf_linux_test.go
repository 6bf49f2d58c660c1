package symbolize

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/native/dump"
)

func TestDemangled(t *testing.T) {
	for mangled, want := range map[string]string{
		"_ZN4leaf6KeeperINS_4NodeELi3EE4keepEm":          "leaf::Keeper<leaf::Node, 3>::keep",
		"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE": "core::fmt::Formatter::pad",
		"_RNvNtCs1234_7mycrate3foo3bar":                  "mycrate::foo::bar",
		"_ZNSt6vectorIiSaIiEE9push_backEOi.cold":         "std::vector<int, std::allocator<int> >::push_back",
		"malloc":                                         "malloc",
		"example.com/app.(*Server).Serve":                "example.com/app.(*Server).Serve",
		"LazyCompile:*leak /srv/app.js:3:14":             "LazyCompile:*leak /srv/app.js:3:14",
		"_Zbroken":                                       "_Zbroken",
	} {
		require.Equal(t, want, demangled(mangled))
	}
}

// elfImage returns an ELF file with symbols and one section of code, 0x1000 bytes at 0x1000.
func elfImage(symbols ...elf.Symbol) []byte {
	le := binary.LittleEndian
	names := []byte{0}
	table := make([]byte, 24)
	for _, s := range symbols {
		entry := make([]byte, 24)
		le.PutUint32(entry, uint32(len(names)))
		entry[4] = s.Info
		le.PutUint16(entry[6:], 1)
		le.PutUint64(entry[8:], s.Value)
		le.PutUint64(entry[16:], s.Size)
		table = append(table, entry...)
		names = append(append(names, s.Name...), 0)
	}
	b := make([]byte, 64)
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[16:], uint16(elf.ET_DYN))
	le.PutUint16(b[18:], uint16(elf.EM_X86_64))
	le.PutUint32(b[20:], 1)
	le.PutUint16(b[58:], 64)
	le.PutUint16(b[60:], 4)
	at := uint64(len(b))
	b = append(append(b, table...), names...)
	le.PutUint64(b[40:], uint64(len(b)))
	section := func(kind elf.SectionType, flags elf.SectionFlag, addr, offset, size uint64, link uint32, entry uint64) {
		h := make([]byte, 64)
		le.PutUint32(h[4:], uint32(kind))
		le.PutUint64(h[8:], uint64(flags))
		le.PutUint64(h[16:], addr)
		le.PutUint64(h[24:], offset)
		le.PutUint64(h[32:], size)
		le.PutUint32(h[40:], link)
		le.PutUint64(h[56:], entry)
		b = append(b, h...)
	}
	section(elf.SHT_NULL, 0, 0, 0, 0, 0, 0)
	section(elf.SHT_NOBITS, elf.SHF_ALLOC|elf.SHF_EXECINSTR, 0x1000, 0, 0x1000, 0, 0)
	section(elf.SHT_SYMTAB, 0, 0, at, uint64(len(table)), 3, 24)
	section(elf.SHT_STRTAB, 0, 0, at+uint64(len(table)), uint64(len(names)), 0, 0)
	return b
}

func elfSymbol(name string, value, size uint64, bind elf.SymBind, kind elf.SymType) elf.Symbol {
	return elf.Symbol{Name: name, Value: value, Size: size, Info: elf.ST_INFO(bind, kind)}
}

// TestSymbols checks that symbols end with their sizes, and which of several names is chosen.
func TestSymbols(t *testing.T) {
	f, err := readELF(elfImage(
		elfSymbol("first", 0x1000, 0x10, elf.STB_LOCAL, elf.STT_FUNC),
		elfSymbol("no_size", 0x1010, 0, elf.STB_GLOBAL, elf.STT_FUNC),
		elfSymbol("__outer", 0x1100, 0x100, elf.STB_GLOBAL, elf.STT_FUNC),
		elfSymbol("outer", 0x1100, 0x100, elf.STB_GLOBAL, elf.STT_FUNC),
		elfSymbol("outer_weak", 0x1100, 0x100, elf.STB_WEAK, elf.STT_FUNC),
		elfSymbol("inner", 0x1120, 0x10, elf.STB_LOCAL, elf.STT_FUNC),
		elfSymbol("assembly", 0x1300, 0x10, elf.STB_LOCAL, elf.STT_NOTYPE),
		elfSymbol("data", 0x1400, 0x10, elf.STB_GLOBAL, elf.STT_OBJECT),
		elfSymbol("_ZN4leaf4growEv", 0x1500, 1, elf.STB_GLOBAL, elf.STT_FUNC),
	))
	require.NoError(t, err)
	for addr, want := range map[uint64]string{
		0xfff: "", 0x1000: "first", 0x100f: "first", 0x1010: "", 0x1011: "", 0x10ff: "", 0x1100: "outer", 0x1120: "inner", 0x112f: "inner",
		0x1130: "outer", 0x1200: "", 0x1305: "assembly", 0x1405: "", 0x1500: "leaf::grow", 0x1501: "",
	} {
		got := ""
		if frames := f.Frames(addr); len(frames) > 0 {
			got = frames[0].Name
		}
		require.Equal(t, want, got, "%#x", addr)
	}
	require.EqualValues(t, 0x1400, f.SymbolAddress("data"))
	require.Zero(t, f.SymbolAddress("nothing"))
	require.Equal(t, [][2]uint64{{0x1000, 0x2000}}, f.Ranges())
}

// TestBias computes the bias of the test binary itself, whose code is where /proc/self/maps says.
func TestBias(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	text, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	maps, err := dump.ParseMaps(text)
	require.NoError(t, err)
	f, err := openELF(exe, "", nil)
	require.NoError(t, err)
	defer f.Close()
	found := 0
	for _, m := range maps {
		if m.File != exe || !m.Executable {
			continue
		}
		bias, err := f.Bias(m)
		require.NoError(t, err)
		require.Zero(t, bias, "it is not position-independent")
		found++
		_, err = f.Bias(&dump.Mapping{Start: m.Start, End: m.End, Offset: m.Offset + 1<<40, Executable: true})
		require.ErrorContains(t, err, "not the file that was mapped")
		_, err = f.Bias(&dump.Mapping{Start: m.Start, End: m.End + 1<<30, Offset: m.Offset, Executable: true})
		require.Error(t, err, "longer than the file's code")
	}
	require.NotZero(t, found)
}

func TestOpenELFErrors(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	_, err := openELF(name, "", nil)
	require.ErrorContains(t, err, "not there")
	require.NoError(t, os.WriteFile(name, []byte("text"), 0o600))
	_, err = openELF(name, "", nil)
	require.ErrorContains(t, err, "no ELF file")
	require.NoError(t, os.WriteFile(name, elfImage(), 0o600))
	_, err = openELF(name, "abcd", nil)
	require.ErrorContains(t, err, "has no build ID; what was mapped has abcd")
}

func FuzzELF(f *testing.F) {
	f.Add(elfImage(elfSymbol("first", 0x1000, 0x10, elf.STB_LOCAL, elf.STT_FUNC)))
	f.Fuzz(func(_ *testing.T, image []byte) {
		o, err := readELF(image)
		if err != nil {
			return
		}
		o.Frames(0x1001)
		o.Ranges()
		o.Sources()
		_, _ = o.Bias(&dump.Mapping{Start: 0x1000, End: 0x2000, Executable: true})
		debugLink(o.elf)
	})
}

// A profile may name a pipe, which nobody writes to, as a mapped file: that is an error at once.
func TestOpenPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lib.so")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, err := openELF(path, "", nil)
	require.ErrorContains(t, err, "not a regular file")
	require.Nil(t, openBuild(path, "ab"))
	require.False(t, hasSum(path, 1))
	require.False(t, dump.IsCore(path))
}
