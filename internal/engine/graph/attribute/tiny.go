package attribute

import "github.com/leakgate/leakgate/internal/engine/heap/typedheap"

// TinyTable records the claims in the blocks of the tiny allocator. Objects are numbered span by
// span, so that it has entries for whole pages of numbers, where there are tiny spans.
type TinyTable struct {
	// by object / tinyPage: 1 + the index of the page's first block in Blocks, 0 if there is none
	page   []uint32
	Blocks []tinyBlock
}

// tinyBlock is the claims in a 16-byte block, one bit a byte: the bytes claimed, except for the
// tool, and the bytes where a claimed value begins, the tool's included.
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

// At returns the claims in an object of a tiny span.
func (t *TinyTable) At(obj uint32) *tinyBlock { return &t.Blocks[t.Index(obj)] }

// Index returns the index of an object's block in Blocks.
func (t *TinyTable) Index(obj uint32) uint32 { return t.page[obj/tinyPage] - 1 + obj%tinyPage }
