package heapgraph

import (
	"sync"
	"sync/atomic"
)

// workPool passes objects that are to be looked at from workers that have many to those that have none.
type workPool struct {
	workers int
	hungry  atomic.Int32 // workers that wait

	mu    sync.Mutex
	wake  sync.Cond
	given [][]uint32
	over  bool
}

// minGift is how many objects a worker keeps, and gives away, at least.
const minGift = 64

func newWorkPool(workers int) *workPool {
	p := &workPool{workers: workers}
	p.wake.L = &p.mu
	return p
}

// share gives away half of the objects if somebody waits for some, and returns what is left.
func (p *workPool) share(todo []uint32) []uint32 {
	if p.hungry.Load() == 0 || len(todo) < 2*minGift {
		return todo
	}
	half := len(todo) / 2
	gift := make([]uint32, half) // those found first, which lead to most
	copy(gift, todo)
	p.mu.Lock()
	p.given = append(p.given, gift)
	p.mu.Unlock()
	p.wake.Signal()
	return todo[:copy(todo, todo[half:])]
}

// take waits for objects. There are none left if it returns none.
func (p *workPool) take() []uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if int(p.hungry.Add(1)) == p.workers {
		p.over = true
		p.wake.Broadcast()
	}
	for len(p.given) == 0 && !p.over {
		p.wake.Wait()
	}
	p.hungry.Add(-1)
	if len(p.given) == 0 {
		return nil
	}
	last := len(p.given) - 1
	gift := p.given[last]
	p.given = p.given[:last]
	return gift
}

// leave ends the wait of all workers. A worker that leaves early, since it panics, so holds nobody up.
func (p *workPool) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.wake.Broadcast()
}
