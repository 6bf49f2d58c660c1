package attribute

import "github.com/leakgate/leakgate/internal/engine/typedheap"

// TinyTable says what was claimed of the blocks of the tiny allocator. Objects are numbered span by
// span, so that it has room for whole pages of them where there are such spans.
type TinyTable struct {
	// by object / tinyPage: 1 + where its blocks begin in blocks, 0 if there are none
	page   []uint32
	Blocks []tinyBlock
}

// tinyBlock is what was claimed of a 16-byte block: which bytes for others than the tool, and at
// which of them a value was seen to begin, whoever's.
type tinyBlock struct{ bytes, Starts uint16 }

const tinyPage = 64

func (t *TinyTable) prepare(h *typedheap.Heap) {
	t.page = make([]uint32, h.Model.NumObjects/tinyPage+1)
	n := uint32(0)
	for i := range h.Model.Spans {
		s := &h.Model.Spans[i]
		if !s.Tiny {
			continue
		}
		for p := s.FirstObj / tinyPage; p <= (s.FirstObj+s.NElems-1)/tinyPage; p++ {
			if t.page[p] == 0 {
				t.page[p] = n*tinyPage + 1
				n++
			}
		}
	}
	t.Blocks = make([]tinyBlock, n*tinyPage)
}

// At returns what was claimed of an object of a tiny span.
func (t *TinyTable) At(obj uint32) *tinyBlock { return &t.Blocks[t.Index(obj)] }

// Index returns where the block of an object is in blocks.
func (t *TinyTable) Index(obj uint32) uint32 { return t.page[obj/tinyPage] - 1 + obj%tinyPage }
