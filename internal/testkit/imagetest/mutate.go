package imagetest

import (
	"encoding/binary"
	"sort"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// Places returns the memory worth damaging, grouped by the structures that it belongs to, so that
// the bytes of a fuzz input lead to structures and not to the empty middle of a mapping.
func (p *Program) Places(tb testing.TB) [][]image.Range {
	tb.Helper()
	m, err := p.Load(p)
	require.NoError(tb, err)
	defer p.Mend()
	size := func(typ string) uint64 {
		id, ok := p.Index.TypeByName(typ)
		require.True(tb, ok, typ)
		return uint64(p.Index.Type(id).Size)
	}
	variable := func(name string) image.Range {
		g, ok := p.Index.GlobalByName(name)
		require.True(tb, ok, name)
		return image.Range{Addr: g.Addr, Len: uint64(g.Size)}
	}
	var gs, stacks, spans, heap, sections []image.Range
	for _, g := range m.Goroutines {
		gs = append(gs, image.Range{Addr: g.Addr, Len: size("runtime.g")})
		stacks = append(stacks, image.Range{Addr: g.SP, Len: g.Hi - g.SP})
	}
	mheap := variable("runtime.mheap_").Addr
	allspans, err := Offset(m, "runtime.mheap", "allspans")
	require.NoError(tb, err)
	for i := range p.U64(mheap + allspans + 8) {
		spans = append(spans, image.Range{Addr: p.U64(p.U64(mheap+allspans) + 8*i), Len: size("runtime.mspan")})
	}
	for i := range m.Spans {
		if sp := &m.Spans[i]; !sp.NoScan {
			heap = append(heap, image.Range{Addr: sp.Base, Len: sp.Size})
		}
	}
	for _, name := range []string{".rodata", ".gopclntab", ".data", ".bss", ".go.type", ".typelink", ".itablink", ".go.module", ".go.func"} {
		if r := p.Section(name); r.Len > 0 {
			sections = append(sections, r)
		}
	}
	return [][]image.Range{
		gs, stacks, spans, heap, sections, p.Regions(),
		{variable("runtime.firstmoduledata")},
		{variable("runtime.mheap_")},
		{variable("runtime.allgs")},
		{variable("runtime.gcCleanups"), variable("runtime.finq"), variable("runtime.allfin"), variable("runtime.allm"), variable("runtime.sched")},
	}
}

// Seed adds inputs that do each kind of damage to each kind of place.
func Seed(f *testing.F, places int) {
	for place := range places {
		for how := range byte(9) {
			input := []byte{byte(place), how}
			input = binary.LittleEndian.AppendUint32(input, uint32(place)*7919+uint32(how)*104729)
			input = binary.LittleEndian.AppendUint64(input, 0x0101010101010101<<how)
			f.Add(input)
			f.Add(append(input, input...))
		}
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

// Damage applies a fuzz input: up to 8 pieces of damage.
func (p *Program) Damage(places [][]image.Range, input []byte) {
	for n := 0; n < 8 && len(input) >= damageSize; n++ {
		place := places[int(input[0])%len(places)]
		addr := at(place, binary.LittleEndian.Uint32(input[2:]))
		value := binary.LittleEndian.Uint64(input[6:])
		old := p.U64(addr)
		switch input[1] % 9 {
		case 0:
			p.PutU64(addr, value)
		case 1:
			p.PutU64(addr, 0)
		case 2:
			p.PutU64(addr, ^uint64(0))
		case 3:
			p.PutU64(addr, addr) // refers to itself
		case 4:
			p.PutU64(addr, p.U64(at(place, uint32(value)))) // the contents of another word in the same place
		case 5:
			// refers to a word in some other place
			p.PutU64(addr, at(places[int(value>>32)%len(places)], uint32(value)))
		case 6:
			p.PutU64(addr, old^1<<(value%64))
		case 7:
			p.PutU32(addr+value>>32%2*4, uint32(value))
		case 8:
			p.Unmap(image.Range{Addr: addr, Len: 1 + value%(1<<16)})
		}
		input = input[damageSize:]
	}
}
