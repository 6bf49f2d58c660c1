package image_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// memory is a source with readable stretches; each byte is its address, folded.
type memory struct {
	readable []image.Range
	copies   int
	err      error
}

func at(addr uint64) byte { return byte(addr ^ addr>>8 ^ addr>>16) }

func (m *memory) Copy(ranges []image.Range) ([][]byte, error) {
	m.copies++
	if m.err != nil {
		return nil, m.err
	}
	out := make([][]byte, len(ranges))
	for i, r := range ranges {
		for a := r.Addr; a < r.End() && m.has(a); a++ {
			out[i] = append(out[i], at(a))
		}
	}
	return out, nil
}

func (m *memory) has(a uint64) bool {
	for _, r := range m.readable {
		if r.Addr <= a && a < r.End() {
			return true
		}
	}
	return false
}

func expect(addr, n uint64) []byte {
	b := make([]byte, 0, n)
	for a := addr; a < addr+n; a++ {
		b = append(b, at(a))
	}
	return b
}

func TestLoad(t *testing.T) {
	m := &memory{readable: []image.Range{{Addr: 0x1000, Len: 0x3000}, {Addr: 0x9000, Len: 0x800}}}
	s := image.NewSpace(m)
	got, err := s.Load([]image.Range{
		{Addr: 0x2000, Len: 0x100}, {Addr: 0x1f00, Len: 0x180}, // overlapping, out of order
		{Addr: 0x9000, Len: 0x1000}, // ends in the middle
		{Addr: 0x5000, Len: 0x10},   // not readable
		{Addr: 0x1000, Len: 0},
	})
	require.NoError(t, err)
	require.Equal(t, 1, m.copies)
	require.Equal(t, expect(0x2000, 0x100), got[0])
	require.Equal(t, expect(0x1f00, 0x180), got[1])
	require.Equal(t, expect(0x9000, 0x800), got[2], "cut where memory ends")
	require.Empty(t, got[3])
	require.Equal(t, expect(0x1f10, 0x100), s.Bytes(0x1f10, 0x100), "across what were two ranges")
	require.Equal(t, 1, m.copies, "nothing is copied twice")
	require.NoError(t, s.Err())
}

// lending is a source that lends the memory in a range.
type lending struct {
	memory
	lends image.Range
}

func (l *lending) Lend(r image.Range) []byte {
	if r.Addr < l.lends.Addr || r.End() > l.lends.End() {
		return nil
	}
	return expect(r.Addr, r.Len)
}

// Memory that can be lent is not copied, and only constants are lent.
func TestLoadConstants(t *testing.T) {
	m := &lending{memory: memory{readable: []image.Range{{Addr: 0x1000, Len: 0x8000}}}, lends: image.Range{Addr: 0x4000, Len: 0x1000}}
	s := image.NewSpace(m)
	got, err := s.LoadConstants([]image.Range{{Addr: 0x4800, Len: 0x100}, {Addr: 0x4000, Len: 0x100}})
	require.NoError(t, err)
	require.Equal(t, expect(0x4800, 0x100), got[0])
	require.Equal(t, expect(0x4000, 0x100), got[1])
	require.Zero(t, m.copies)
	got, err = s.LoadConstants([]image.Range{{Addr: 0x6000, Len: 8}, {Addr: 0x4200, Len: 8}, {Addr: 0x2000, Len: 8}, {Addr: 0x3ff0, Len: 0x20}})
	require.NoError(t, err)
	for i, r := range []image.Range{{Addr: 0x6000, Len: 8}, {Addr: 0x4200, Len: 8}, {Addr: 0x2000, Len: 8}, {Addr: 0x3ff0, Len: 0x20}} {
		require.Equal(t, expect(r.Addr, r.Len), got[i])
		require.Equal(t, expect(r.Addr, r.Len), s.Bytes(r.Addr, r.Len))
	}
	require.Equal(t, 1, m.copies, "what cannot be lent")
	_, err = s.Load([]image.Range{{Addr: 0x4a00, Len: 8}})
	require.NoError(t, err)
	require.Equal(t, 2, m.copies, "no constant")
	require.NoError(t, s.Err())
}

func TestSmallReads(t *testing.T) {
	m := &memory{readable: []image.Range{{Addr: 0x4000, Len: 0x8000}}}
	s := image.NewSpace(m)
	require.Equal(t, binary.LittleEndian.Uint64(expect(0x7ffc, 8)), s.U64(0x7ffc), "across two chunks")
	require.Equal(t, binary.LittleEndian.Uint32(expect(0x5001, 4)), s.U32(0x5001))
	require.Equal(t, at(0x5003), s.U8(0x5003))
	require.Equal(t, 2, m.copies)
	require.NoError(t, s.Err())
}

// A page that cannot be read does not hide its neighbours.
func TestHoles(t *testing.T) {
	m := &memory{readable: []image.Range{{Addr: 0x5000, Len: 0x1000}, {Addr: 0x7000, Len: 0x1000}}}
	s := image.NewSpace(m)
	require.Equal(t, at(0x5010), s.U8(0x5010))
	require.Equal(t, at(0x7010), s.U8(0x7010))
	require.True(t, s.Try(0x7ff8, 8))
	require.False(t, s.Try(0x8000, 8))
	require.NoError(t, s.Err(), "trying leaves no error")
}

// Reads of memory that does not exist give zeros and an error that stays; absurd lengths allocate
// nothing.
func TestStickyError(t *testing.T) {
	s := image.NewSpace(&memory{})
	require.Zero(t, s.U64(0x1234))
	require.ErrorContains(t, s.Err(), "8 bytes at 0x1234")
	require.Nil(t, s.Bytes(0x5000, 1<<60))
	require.Nil(t, s.Bytes(^uint64(0)-3, 8))
	require.ErrorContains(t, s.Err(), "0x1234", "the first one")
}

func TestSourceFails(t *testing.T) {
	s := image.NewSpace(&memory{err: errors.New("gone")})
	_, err := s.Load([]image.Range{{Addr: 1, Len: 2}})
	require.ErrorContains(t, err, "gone")
	require.Zero(t, s.U16(0x10))
	require.Error(t, s.Err())
}

func TestUnion(t *testing.T) {
	require.Equal(t, []image.Range{{Addr: 1, Len: 9}, {Addr: 12, Len: 3}},
		image.Union([]image.Range{{Addr: 12, Len: 3}, {Addr: 5, Len: 5}, {Addr: 1, Len: 4}, {Addr: 2, Len: 2}}))
}

// slow is a source of a chunk that comes at once, and of others that wait for gate.
type slow struct {
	*memory
	reading, gate chan bool
}

func (s *slow) Copy(ranges []image.Range) ([][]byte, error) {
	if ranges[0].Addr != 0x4000 {
		s.reading <- true
		<-s.gate
	}
	return s.memory.Copy(ranges)
}

// A read of memory that is here already does not wait for another that is being copied.
func TestReadsBesideCopy(t *testing.T) {
	m := &slow{&memory{readable: []image.Range{{Addr: 0x4000, Len: 0x8000}}}, make(chan bool), make(chan bool)}
	s := image.NewSpace(m)
	require.Equal(t, at(0x4001), s.U8(0x4001))
	other := make(chan uint8)
	go func() { other <- s.U8(0x8001) }()
	<-m.reading
	require.Equal(t, at(0x4002), s.U8(0x4002))
	close(m.gate)
	require.Equal(t, at(0x8001), <-other)
	require.Equal(t, 2, m.copies)
}
