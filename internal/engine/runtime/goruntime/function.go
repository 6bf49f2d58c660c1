package goruntime

import (
	"bytes"
	"encoding/binary"
	"sort"

	"github.com/leakgate/leakgate/internal/symbol"
)

// Function identities and flags (internal/abi/symtab.go; the same in go1.26 and go1.27).
const (
	funcIDAsyncPreempt = 3
	funcIDCgocallback  = 4
	funcIDDebugCallV2  = 6
	funcIDSigpanic     = 20

	funcFlagTopFrame = 1
	funcFlagSPWrite  = 2

	pcdataStackMapIndex = 1

	funcdataArgsPointerMaps   = 0
	funcdataLocalsPointerMaps = 1
	funcdataStackObjects      = 2

	argsSizeUnknown = -0x80000000
)

// Func is an entry of the function table (runtime/runtime2.go, _func; 44 bytes, then the offsets of
// its pcdata and funcdata).
type Func struct {
	mod         *Module
	rec         []byte // the record, to the end of the function table
	Entry       uint64
	Name        string // without escapes
	Package     string // its import path
	args        int32
	deferreturn uint32
	pcsp        uint32
	pcfile      uint32
	pcln        uint32
	npcdata     uint32
	cuOffset    uint32
	StartLine   int32
	id          uint8
	flag        uint8
	nfuncdata   uint8
}

const funcRecord = 44

// FuncAt returns the function whose code holds pc, or nil.
func (m *Model) FuncAt(pc uint64) *Func {
	mod := m.moduleOfPC(pc)
	if mod == nil || mod.nftab < 2 || pc < mod.text {
		return nil
	}
	off := pc - mod.text
	entry := func(i int) uint32 { return binary.LittleEndian.Uint32(mod.ftab[8*i:]) }
	// The last entry is a sentinel for the end of the text.
	i := sort.Search(mod.nftab, func(i int) bool { return uint64(entry(i)) > off }) - 1
	if i < 0 || i >= mod.nftab-1 {
		return nil
	}
	start := mod.text + uint64(entry(i))
	if f, ok := m.funcs.Get(start); ok {
		return f
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if f, ok := m.funcs.Get(start); ok {
		return f
	}
	recOff := uint64(binary.LittleEndian.Uint32(mod.ftab[8*i+4:]))
	if recOff+funcRecord > uint64(len(mod.pclntable)) {
		return nil
	}
	rec := mod.pclntable[recOff:]
	u32 := func(off int) uint32 { return binary.LittleEndian.Uint32(rec[off:]) }
	f := &Func{
		mod: mod, rec: rec, Entry: start,
		args: int32(u32(8)), deferreturn: u32(12), pcsp: u32(16), pcfile: u32(20), pcln: u32(24),
		npcdata: u32(28), cuOffset: u32(32), StartLine: int32(u32(36)), id: rec[40], flag: rec[41], nfuncdata: rec[43],
	}
	name := cstring(mod.funcnames, uint64(u32(4)))
	f.Name, f.Package = symbol.Unescape(name), symbol.Package(name)
	m.funcs.Add(start, f)
	return f
}

// maxName bounds the names of functions and files; those of generic functions have some KB.
const maxName = 1 << 14

// cstring returns the text at an offset of a table up to a zero byte, "" if there is none.
func cstring(b []byte, off uint64) string {
	if off >= uint64(len(b)) {
		return ""
	}
	b = b[off:min(off+maxName, uint64(len(b)))]
	return string(b[:max(0, bytes.IndexByte(b, 0))])
}

// funcdata returns the address of a function's funcdata, 0 if it has none.
func (f *Func) funcdata(i uint32) uint64 {
	if i >= uint32(f.nfuncdata) {
		return 0
	}
	off, ok := u32at(f.rec, funcRecord+uint64(f.npcdata)*4+uint64(i)*4)
	if !ok || off == ^uint32(0) {
		return 0
	}
	return f.mod.gofunc + uint64(off)
}

// pcdata returns the value of a pc table at pc, -1 if there is none.
func (m *Model) pcdata(f *Func, table uint32, pc uint64) int32 {
	if table >= f.npcdata {
		return -1
	}
	off, ok := u32at(f.rec, funcRecord+uint64(table)*4)
	if !ok {
		return -1
	}
	v, _ := m.pcvalue(f, off, pc)
	return v
}

const maxStill = 1 << 12

// pcvalue walks a pc-value table (runtime/symtab.go, pcvalue and step).
func (m *Model) pcvalue(f *Func, off uint32, target uint64) (int32, bool) {
	if off == 0 || uint64(off) >= uint64(len(f.mod.pctab)) {
		return -1, false
	}
	p := f.mod.pctab[off:]
	pc, val := f.Entry, int32(-1)
	// A step without a way forward is rare (instructions of no size); a damaged table may have
	// nothing else.
	still := 0
	for first := true; still < maxStill; first = false {
		dv, n := binary.Uvarint(p)
		if n <= 0 || (dv == 0 && !first) {
			return -1, false
		}
		p = p[n:]
		v := uint32(dv)
		val += int32(-(v & 1) ^ (v >> 1))
		dp, n := binary.Uvarint(p)
		if n <= 0 {
			return -1, false
		}
		p = p[n:]
		pc += dp * m.arch.pcQuantum
		if target < pc {
			return val, true
		}
		if dp == 0 {
			still++
		}
	}
	return -1, false
}

// Line returns the source position of pc, "" if it is not known. For a return address give pc-1.
func (m *Model) Line(f *Func, pc uint64) (file string, line int) {
	fileno, ok := m.pcvalue(f, f.pcfile, pc)
	if !ok || fileno < 0 {
		return "", 0
	}
	ln, ok := m.pcvalue(f, f.pcln, pc)
	if !ok {
		return "", 0
	}
	off, ok := u32at(f.mod.cutab, (uint64(f.cuOffset)+uint64(fileno))*4)
	if !ok || off == ^uint32(0) {
		return "", 0
	}
	return cstring(f.mod.filetab, uint64(off)), int(ln)
}
