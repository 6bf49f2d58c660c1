package objset

import "math/bits"

// A Worklist has numbers that are to be visited, in no particular order. However many there are, it
// takes no more memory than a Set and 64 KB. It is not safe for concurrent use.
type Worklist struct {
	stack []uint32
	rest  Set // what the stack had no room for
	left  int // how many there are in rest
	at    int // where in rest the search goes on
}

// maxStack is how many numbers a Worklist has outside of its set.
const maxStack = 1 << 14

// NewWorklist returns an empty list for the numbers below n.
func NewWorklist(n uint32) *Worklist { return &Worklist{rest: New(n)} }

// Add adds a number. One that is in the list already may be there twice then.
func (w *Worklist) Add(i uint32) {
	if len(w.stack) < maxStack {
		w.stack = append(w.stack, i)
	} else if w.rest.Add(i) {
		w.left++
	}
}

// Take removes a number; ok is false if there is none left.
func (w *Worklist) Take() (i uint32, ok bool) {
	if len(w.stack) == 0 && w.left > 0 {
		w.refill()
	}
	last := len(w.stack) - 1
	if last < 0 {
		return 0, false
	}
	i = w.stack[last]
	w.stack = w.stack[:last]
	return i, true
}

// refill moves numbers from the set to the stack. It goes on where it ended the last time, so that
// it reads the set once for all the numbers in it.
func (w *Worklist) refill() {
	for len(w.stack) < maxStack-64 && w.left > 0 {
		if w.at == len(w.rest) {
			w.at = 0
		}
		for bit := w.rest[w.at]; bit != 0; bit &= bit - 1 {
			w.stack = append(w.stack, uint32(64*w.at+bits.TrailingZeros64(bit)))
			w.left--
		}
		w.rest[w.at] = 0
		w.at++
	}
}
