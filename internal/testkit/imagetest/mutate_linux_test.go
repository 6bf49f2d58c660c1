package imagetest_test

import (
	"encoding/binary"
	"sort"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// places returns the memory worth damaging, grouped by the structures that it belongs to, so that
// the bytes of a fuzz input lead to structures and not to the empty middle of a mapping.
func (s *subject) places(tb testing.TB) [][]image.Range {
	tb.Helper()
	m, err := s.load()
	require.NoError(tb, err)
	defer s.Mend()
	size := func(typ string) uint64 {
		id, ok := s.Index.TypeByName(typ)
		require.True(tb, ok, typ)
		return uint64(s.Index.Type(id).Size)
	}
	variable := func(name string) image.Range {
		g, ok := s.Index.GlobalByName(name)
		require.True(tb, ok, name)
		return image.Range{Addr: g.Addr, Len: uint64(g.Size)}
	}
	var gs, stacks, spans, heap, sections []image.Range
	for _, g := range m.Goroutines {
		gs = append(gs, image.Range{Addr: g.Addr, Len: size("runtime.g")})
		stacks = append(stacks, image.Range{Addr: g.SP, Len: g.Hi - g.SP})
	}
	mheap := variable("runtime.mheap_").Addr
	allspans, err := offsetOf(m, "runtime.mheap", "allspans")
	require.NoError(tb, err)
	for i := range s.U64(mheap + allspans + 8) {
		spans = append(spans, image.Range{Addr: s.U64(s.U64(mheap+allspans) + 8*i), Len: size("runtime.mspan")})
	}
	for i := range m.Spans {
		if sp := &m.Spans[i]; !sp.NoScan {
			heap = append(heap, image.Range{Addr: sp.Base, Len: sp.Size})
		}
	}
	for _, name := range []string{".rodata", ".gopclntab", ".data", ".bss", ".go.type", ".typelink", ".itablink", ".go.module", ".go.func"} {
		if r := s.Section(name); r.Len > 0 {
			sections = append(sections, r)
		}
	}
	return [][]image.Range{
		gs, stacks, spans, heap, sections, s.Regions(),
		{variable("runtime.firstmoduledata")},
		{variable("runtime.mheap_")},
		{variable("runtime.allgs")},
		{variable("runtime.gcCleanups"), variable("runtime.finq"), variable("runtime.allfin"), variable("runtime.allm"), variable("runtime.sched")},
	}
}

// at turns a number into the address of a word of one of the ranges.
func at(ranges []image.Range, n uint32) uint64 {
	total := uint64(0)
	ends := make([]uint64, len(ranges))
	for i, r := range ranges {
		total += r.Len / 8
		ends[i] = total
	}
	if total == 0 {
		return 0
	}
	w := uint64(n) % total
	i := sort.Search(len(ends), func(i int) bool { return ends[i] > w })
	return ranges[i].Addr + 8*(w-(ends[i]-ranges[i].Len/8))
}

// damageSize is the length in bytes of one piece of damage in a fuzz input: index of the place (1),
// kind of damage (1), word in the place (4), and a value (8).
const damageSize = 14

// damage applies a fuzz input: up to 8 pieces of damage.
func (s *subject) damage(places [][]image.Range, input []byte) {
	for n := 0; n < 8 && len(input) >= damageSize; n++ {
		place := places[int(input[0])%len(places)]
		addr := at(place, binary.LittleEndian.Uint32(input[2:]))
		value := binary.LittleEndian.Uint64(input[6:])
		old := s.U64(addr)
		switch input[1] % 9 {
		case 0:
			s.PutU64(addr, value)
		case 1:
			s.PutU64(addr, 0)
		case 2:
			s.PutU64(addr, ^uint64(0))
		case 3:
			s.PutU64(addr, addr) // refers to itself
		case 4:
			s.PutU64(addr, s.U64(at(place, uint32(value)))) // the contents of another word in the same place
		case 5:
			// refers to a word in some other place
			s.PutU64(addr, at(places[int(value>>32)%len(places)], uint32(value)))
		case 6:
			s.PutU64(addr, old^1<<(value%64))
		case 7:
			s.PutU32(addr+value>>32%2*4, uint32(value))
		case 8:
			s.Unmap(image.Range{Addr: addr, Len: 1 + value%(1<<16)})
		}
		input = input[damageSize:]
	}
}
