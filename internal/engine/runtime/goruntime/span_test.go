package goruntime

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// randomSpan returns a span of some pages at an address.
func randomSpan(rng *rand.Rand, base uint64) Span {
	s := Span{Base: base, Size: (1 + rng.Uint64N(5)) * rtlayout.PageSize, ElemSize: 8 << rng.Uint64N(10)}
	s.NElems = uint32(s.Size / s.ElemSize)
	if s.NElems == 1 || rng.IntN(5) == 0 {
		s.ElemSize, s.NElems = s.Size, 1 // a large object
	} else {
		s.divMul = ^uint32(0)/uint32(s.ElemSize) + 1
		s.NElems -= rng.Uint32N(2) // room at the end
	}
	s.Limit = s.Base + uint64(s.NElems)*s.ElemSize
	s.freeIndex = rng.Uint32N(s.NElems + 1)
	s.scanIndex = rng.Uint32N(s.freeIndex + 1)
	s.marks = make([]byte, (s.NElems+7)/8)
	for i := range s.marks {
		s.marks[i] = byte(rng.Uint32())
	}
	s.swept, s.NoScan = rng.IntN(3) > 0, true
	return s
}

// Addresses lead to objects, and numbers to spans, as a search of all spans says: where spans are
// close together, and where they are far apart.
func TestObjectsByAddress(t *testing.T) {
	for name, gap := range map[string]uint64{"close": 4, "far": 1 << 30} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, gap))
			m := &Model{}
			base := uint64(1 << 32)
			for range 300 {
				s := randomSpan(rng, base)
				require.True(t, s.plausible())
				m.Spans = append(m.Spans, s)
				base += s.Size + rng.Uint64N(gap)*rtlayout.PageSize
			}
			require.NoError(t, m.numberObjects())
			require.Equal(t, gap > 100, m.pages.dense == nil, "the table of pages")
			newObjects := 0
			for i := range m.Spans {
				s := &m.Spans[i]
				for k := range s.NElems {
					allocated := k < s.freeIndex || s.marks[k/8]&(1<<(k%8)) != 0
					if s.swept && k < s.freeIndex && s.marks[k/8]&(1<<(k%8)) == 0 {
						newObjects++
					}
					obj, addr := s.FirstObj+k, s.Base+uint64(k)*s.ElemSize
					require.Equal(t, addr, s.Addr(obj))
					require.Same(t, s, m.SpanOf(obj))
					within := addr + rng.Uint64N(s.ElemSize)
					span, got := m.Object(within)
					require.Equal(t, allocated, got == obj && span == s)
					require.Equal(t, allocated, got != NoObject)
					slot, index, ok := m.Slot(within)
					require.True(t, ok && slot == s && index == k)
					require.Equal(t, k < s.scanIndex || s.Marked(k), m.Published(within))
				}
				for _, outside := range []uint64{s.Limit, s.Base + s.Size - 1, s.Base - 1} {
					if inSlot(m, outside) {
						continue
					}
					_, _, ok := m.Slot(outside)
					_, obj := m.Object(outside)
					require.True(t, !ok && obj == NoObject && m.Published(outside))
				}
			}
			require.Equal(t, newObjects, m.NewObjects())
			m.Spans[1].Base = m.Spans[0].Base
			require.ErrorContains(t, m.numberObjects(), "overlap")
		})
	}
}

// inSlot searches all spans for an address.
func inSlot(m *Model, addr uint64) bool {
	for i := range m.Spans {
		if s := &m.Spans[i]; s.Base <= addr && addr < s.Base+uint64(s.NElems)*s.ElemSize {
			return true
		}
	}
	return false
}

// A span whose fields do not agree is not believed.
func TestImplausibleSpans(t *testing.T) {
	sound := Span{Base: 1 << 32, Size: 8 << 10, ElemSize: 48, NElems: 170, divMul: ^uint32(0)/48 + 1}
	require.True(t, sound.plausible())
	for name, damage := range map[string]func(s *Span){
		"not at a page":       func(s *Span) { s.Base += 8 },
		"beyond all memory":   func(s *Span) { s.Base = ^uint64(0) &^ (rtlayout.PageSize - 1) },
		"too large":           func(s *Span) { s.Size = maxSpanSize + rtlayout.PageSize },
		"more than fits":      func(s *Span) { s.NElems++ },
		"much less than fits": func(s *Span) { s.Size *= 4 },
		"another divisor":     func(s *Span) { s.divMul++ },
		"no size":             func(s *Span) { s.ElemSize, s.divMul = 0, 0 },
		"tiny of another":     func(s *Span) { s.Tiny = true },
	} {
		s := sound
		damage(&s)
		assert.False(t, s.plausible(), name)
	}
}

// The bits of a small object are those of its words, in whatever word of the span's bits they lie.
func TestSmallMask(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	for _, size := range []uint64{8, 16, 24, 48, 112, 208, 480, 512} {
		s := Span{Size: 8 << 10, ElemSize: size, NElems: uint32(8 << 10 / size), FirstObj: 1000, bits: make([]byte, 128)}
		for i := range s.bits {
			s.bits[i] = byte(rng.Uint32())
		}
		for k := range s.NElems {
			want := uint64(0)
			for w := range size / 8 {
				if MaskBit(s.bits, uint64(k)*size/8+w) {
					want |= 1 << w
				}
			}
			require.Equal(t, want, s.SmallMask(1000+k), "object %d of %d bytes", k, size)
		}
	}
	for n := range 20 {
		mask := make([]byte, n)
		for i := range mask {
			mask[i] = byte(rng.Uint32())
		}
		for bit := uint64(0); bit < uint64(8*n); bit += 8 {
			for k := range uint64(64) {
				require.Equal(t, MaskBit(mask, bit+k), maskWord(mask, bit)>>k&1 != 0)
			}
		}
	}
}

// A scan of a model ends when its time is up, or when what watches it says so.
func TestInTime(t *testing.T) {
	ended := func(m *Model) (why error) {
		defer func() {
			if p := recover(); p != nil {
				why = p.(error)
			}
		}()
		m.InTime()
		return nil
	}
	require.NoError(t, ended(&Model{}))
	late, cancel := context.WithDeadline(context.Background(), time.Now())
	defer cancel()
	err := ended(&Model{Context: late})
	var up *TimeUp
	require.ErrorAs(t, err, &up)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, ended(&Model{Context: cancelled}), "only time counts")
	noMemory := errors.New("no memory")
	require.ErrorIs(t, ended(&Model{Watch: func() error { return noMemory }}), noMemory)
}
