package heapgraph

import "sync/atomic"

// workPool passes objects that are to be looked at from workers that have many to those that have none.
type workPool struct {
	gifts   chan []uint32
	busy    atomic.Int32 // workers that look at objects, and gifts under way
	waiting atomic.Int32
}

// minGift is how many objects a worker gives away, and keeps, at least.
const minGift = 64

func newWorkPool(workers int) *workPool {
	p := &workPool{gifts: make(chan []uint32, workers)}
	p.busy.Store(int32(workers))
	return p
}

// share gives away half of the objects if somebody waits for some, and returns what is left.
func (p *workPool) share(todo []uint32) []uint32 {
	if p.waiting.Load() == 0 || len(todo) < 2*minGift {
		return todo
	}
	half := len(todo) / 2
	p.busy.Add(1)
	select {
	case p.gifts <- todo[:half:half]: // those found first, which lead to most
		return todo[half:]
	default:
		p.rest()
		return todo
	}
}

// take waits for a gift. It returns nothing when all objects were looked at.
func (p *workPool) take() []uint32 {
	p.waiting.Add(1)
	defer p.waiting.Add(-1)
	return <-p.gifts
}

// rest says that a worker has no objects any more. The last to say so ends the wait of all.
func (p *workPool) rest() {
	if p.busy.Add(-1) == 0 {
		close(p.gifts)
	}
}
