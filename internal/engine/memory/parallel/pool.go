package parallel

import "sync/atomic"

// A Pool passes object numbers from workers that have many left to workers that have none. Each
// worker processes its objects and sometimes gives some away. When it has none left, it calls Rest,
// and then Take for more.
type Pool struct {
	batches chan []uint32
	busy    atomic.Int32 // workers that have objects, and batches on their way to a worker
	waiting atomic.Int32
}

// MinBatch is how many objects a worker should give away, and keep, at least.
const MinBatch = 64

// NewPool returns a pool for a number of workers, all of which count as having objects.
func NewPool(workers int) *Pool {
	p := &Pool{batches: make(chan []uint32, workers)}
	p.busy.Store(int32(workers))
	return p
}

// Wants reports whether a worker waits for objects.
func (p *Pool) Wants() bool { return p.waiting.Load() != 0 }

// Give passes the list itself to a worker that waits, and reports whether it did. Only workers that
// have objects left may call it.
func (p *Pool) Give(objects []uint32) bool {
	p.busy.Add(1)
	select {
	case p.batches <- objects:
		return true
	default:
		p.Rest()
		return false
	}
}

// Take waits for objects of another worker. It returns nil when all workers have none left.
func (p *Pool) Take() []uint32 {
	p.waiting.Add(1)
	defer p.waiting.Add(-1)
	return <-p.batches
}

// Rest says that a worker has no objects left. When the last one says so, Take returns for all.
func (p *Pool) Rest() {
	if p.busy.Add(-1) == 0 {
		close(p.batches)
	}
}
