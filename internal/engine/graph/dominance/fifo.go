package dominance

import "github.com/leakgate/leakgate/internal/engine/memory/offheap"

// fifo is a queue of numbers, in blocks that are reused. It lies outside of the heap, and has to be
// released.
type fifo struct {
	blocks [][]uint32 // in use, the oldest first
	spare  [][]uint32
	head   int // in the oldest
	tail   int // in the newest
}

func (q *fifo) empty() bool { return len(q.blocks) == 0 }

func (q *fifo) push(v uint32) {
	if len(q.blocks) == 0 || q.tail == offheap.BlockLen {
		if len(q.spare) == 0 {
			q.spare = append(q.spare, offheap.Make(offheap.BlockLen))
		}
		last := len(q.spare) - 1
		q.blocks = append(q.blocks, q.spare[last])
		q.spare, q.tail = q.spare[:last], 0
	}
	q.blocks[len(q.blocks)-1][q.tail] = v
	q.tail++
}

// pop takes out the oldest number. The queue must not be empty.
func (q *fifo) pop() uint32 {
	v := q.blocks[0][q.head]
	q.head++
	if q.head == offheap.BlockLen || len(q.blocks) == 1 && q.head == q.tail {
		q.spare = append(q.spare, q.blocks[0])
		copy(q.blocks, q.blocks[1:])
		q.blocks = q.blocks[:len(q.blocks)-1]
		q.head = 0
	}
	return v
}

func (q *fifo) release() {
	for _, list := range [...][][]uint32{q.blocks, q.spare} {
		for _, b := range list {
			offheap.Free(b)
		}
	}
	*q = fifo{}
}
