package heapgraph

// tinyTable says what was claimed of the blocks of the tiny allocator. Objects are numbered span by span, so that it has room for whole
// pages of them where there are such spans.
type tinyTable struct {
	page   []uint32 // by object / tinyPage: 1 + where its blocks begin in blocks, 0 if there are none
	blocks []tinyBlock
}

// tinyBlock is what was claimed of a 16-byte block: which bytes, and at which of them a value was seen to begin.
type tinyBlock struct{ bytes, starts uint16 }

const tinyPage = 64

func (t *tinyTable) prepare(g *Graph) {
	t.page = make([]uint32, g.m.NumObjects/tinyPage+1)
	n := uint32(0)
	for i := range g.m.Spans {
		s := &g.m.Spans[i]
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
	t.blocks = make([]tinyBlock, n*tinyPage)
}

// at returns what was claimed of an object of a tiny span.
func (t *tinyTable) at(obj uint32) *tinyBlock { return &t.blocks[t.index(obj)] }

// index returns where the block of an object is in blocks.
func (t *tinyTable) index(obj uint32) uint32 { return t.page[obj/tinyPage] - 1 + obj%tinyPage }
