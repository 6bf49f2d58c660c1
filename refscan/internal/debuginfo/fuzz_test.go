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

// FuzzOpenIndex damages the contents of an index, or the file that they are packed into, where it makes the checksum
// fit again, so that what lies behind it is reached.
func FuzzOpenIndex(f *testing.F) {
	elf, err := openELF(buildProg(f))
	require.NoError(f, err)
	defer elf.Close()
	c, err := buildContents(elf, sourceOwn)
	require.NoError(f, err)
	sound, file := flat(c), packFile(c)
	for _, packed := range []bool{false, true} {
		f.Add(uint32(0), []byte{}, false, packed)
		f.Add(uint32(headerSize), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, false, packed)
		f.Add(uint32(16), []byte{0xff, 0, 0, 0, 0, 0, 0, 0}, false, packed)
		f.Add(uint32(directorySize), bytes.Repeat([]byte{0xff}, 4096), false, packed)
		f.Add(uint32(len(file)/2), bytes.Repeat([]byte{0xff}, 4096), false, packed)
		f.Add(uint32(len(file)/2), []byte{}, true, packed)
	}
	for table := range tableCount {
		off := binary.LittleEndian.Uint64(sound[16*table:])
		f.Add(uint32(off), bytes.Repeat([]byte{0xfe}, 64), false, false)
		f.Add(uint32(off)+64, bytes.Repeat([]byte{0x01, 0x80}, 64), false, false)
	}
	f.Fuzz(func(t *testing.T, off uint32, patch []byte, cut, packed bool) {
		b := bytes.Clone(sound)
		if packed {
			b = bytes.Clone(file)
		}
		if int64(off) < int64(len(b)) {
			copy(b[off:], patch)
			if cut {
				b = b[:off]
			}
		}
		open := func() (*Index, error) { return openImage(b, nil) }
		if packed {
			open = func() (*Index, error) { return openFile(b) }
			if len(b) >= headerSize {
				mended(b)
			}
		}
		if x, err := open(); err == nil {
			askEverything(x)
			if x.blocks != nil {
				unmapMemory(t, x.blocks.memory)
			}
		}
	})
}

// FuzzBlocks packs and unpacks, and unpacks what nobody packed.
func FuzzBlocks(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("four"))
	f.Add(bytes.Repeat([]byte{1}, blockSize))
	f.Add(bytes.Repeat([]byte("a row of bytes that recurs after a while, "), 1000))
	f.Add(append(bytes.Repeat([]byte{0xf0, 0xff}, 200), 0x1f, 0, 1, 0, 0xff, 3))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = b[:min(len(b), blockSize)]
		got := make([]byte, len(b))
		if !unpackBlock(got, packBlock(nil, b)) || !bytes.Equal(b, got) {
			t.Errorf("%d bytes come back as others", len(b))
		}
		unpackBlock(make([]byte, blockSize), b)
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
		c, err := buildContents(damaged, sourceOwn)
		if err != nil {
			return
		}
		x, err := openImage(flat(c), nil)
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
