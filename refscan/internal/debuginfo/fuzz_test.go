package debuginfo

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// askEverything calls every accessor, with ids and addresses that the index itself names and with others.
func askEverything(x *Index) {
	x.GoVersion()
	x.BuildID()
	x.Warnings()
	x.FromTwin()
	for id := range min(x.NumTypes()+2, 3000) {
		t := x.Type(TypeID(id))
		x.TypeByName(t.Name)
		x.TypesByHash(t.RuntimeHash)
		for _, f := range t.Fields {
			x.Type(f.Type)
		}
	}
	x.Type(math.MaxUint32)
	for i, g := range x.Globals() {
		if i < 1000 {
			x.GlobalByName(g.Name)
		}
	}
	for i := range min(x.count(tableFuncs), 3000) {
		f := x.fn(i)
		x.FuncByPC(f.Entry)
		x.FuncByPC(f.End)
		for _, l := range x.Locals(f.Entry) {
			x.Type(l.Type)
		}
		x.Captures(f.Entry)
	}
	x.FuncByPC(0)
	x.FuncByPC(math.MaxUint64)
	x.Section(".text")
	_ = x.Close()
}

// FuzzOpenIndex damages an index file and makes its checksum fit again, so that what lies behind the checksum is reached.
func FuzzOpenIndex(f *testing.F) {
	elf, err := openELF(buildProg(f))
	require.NoError(f, err)
	defer elf.Close()
	sound, err := buildImage(elf, sourceOwn)
	require.NoError(f, err)
	tables := headerSize + 16*tableCount
	f.Add(uint32(0), []byte{}, false)
	f.Add(uint32(headerSize), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, false)
	f.Add(uint32(headerSize+8), []byte{0xff, 0, 0, 0, 0, 0, 0, 0}, false)
	f.Add(uint32(tables), bytes.Repeat([]byte{0xff}, 4096), false)
	f.Add(uint32(len(sound)/2), bytes.Repeat([]byte{0xff}, 4096), false)
	f.Add(uint32(len(sound)/2), []byte{}, true)
	for table := range tableCount {
		off := binary.LittleEndian.Uint64(sound[headerSize+16*table:])
		f.Add(uint32(off), bytes.Repeat([]byte{0xfe}, 64), false)
		f.Add(uint32(off)+64, bytes.Repeat([]byte{0x01, 0x80}, 64), false)
	}
	f.Fuzz(func(t *testing.T, off uint32, patch []byte, cut bool) {
		b := bytes.Clone(sound)
		if int64(off) < int64(len(b)) {
			copy(b[off:], patch)
			if cut {
				b = b[:off]
			}
		}
		if len(b) >= headerSize {
			binary.LittleEndian.PutUint64(b[16:], uint64(len(b)))
			binary.LittleEndian.PutUint32(b[24:], checksum(b[headerSize:]))
		}
		if x, err := openImage(b); err == nil {
			askEverything(x)
		}
	})
}

// FuzzBuild damages an executable: its headers, and its debug sections, which are not compressed here.
func FuzzBuild(f *testing.F) {
	sound, err := os.ReadFile(buildProg(f, "-ldflags=-compressdwarf=false"))
	require.NoError(f, err)
	elf, err := parseELF(sound)
	require.NoError(f, err)
	f.Add(uint32(0), []byte{}, false)
	f.Add(uint32(40), []byte{0xff, 0xff, 0xff}, false)
	f.Add(uint32(len(sound)/2), []byte{}, true)
	f.Add(uint32(len(sound)-100), []byte{}, true)
	for _, s := range elf.Sections {
		if s.Type == sectionNoBits || s.Size == 0 {
			continue
		}
		f.Add(uint32(s.Offset), bytes.Repeat([]byte{0xff}, 32), false)
		f.Add(uint32(s.Offset+s.Size/2), []byte{0x80, 0x01, 0xff, 0x00, 0x7f}, false)
		f.Add(uint32(s.Offset+s.Size/3), bytes.Repeat([]byte{0}, 200), false)
	}
	f.Fuzz(func(t *testing.T, off uint32, patch []byte, cut bool) {
		b := bytes.Clone(sound)
		if int64(off) < int64(len(b)) {
			copy(b[off:], patch)
			if cut {
				b = b[:off]
			}
		}
		damaged, err := parseELF(b)
		if err != nil {
			return
		}
		_ = sameProgram(elf, damaged)
		_ = sameProgram(damaged, elf)
		image, err := buildImage(damaged, sourceOwn)
		if err != nil {
			return
		}
		x, err := openImage(image)
		if err != nil {
			t.Fatal(err) // what was written has to be readable
		}
		askEverything(x)
	})
}

// FuzzLocation runs the readers of location expressions and lists on arbitrary bytes.
func FuzzLocation(f *testing.F) {
	f.Add([]byte{opFbreg, 0x70, opPiece, 8, opReg0, opPiece, 8}, int64(0), true)
	f.Add([]byte{lleBaseAddressx, 0, lleOffsetPair, 1, 2, 1, opCallFrameCFA, lleEndOfList}, int64(0), true)
	f.Add(bytes.Repeat([]byte{0xff}, 64), int64(3), false)
	f.Fuzz(func(t *testing.T, b []byte, off int64, dwarf5 bool) {
		for _, p := range framePlaces(nil, b, 1, 2) {
			if p.Size < 0 && p.Size != wholeVariable {
				t.Errorf("place %+v", p)
			}
		}
		l := lists{dwarf5: dwarf5, addr: b, addrBase: uint64(off), loc: b, rng: b}
		for _, s := range l.ranges(off) {
			if s.Low >= s.High {
				t.Errorf("range %+v", s)
			}
		}
		l.locations(off, func(_, _ uint64, expr []byte) { framePlaces(nil, expr, 0, 0) })
		goNote(b)
		gcProgram(b)
	})
}
