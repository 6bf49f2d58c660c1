package jump

import "slices"

const (
	// Window is how many collections tell what is usual: one that jumps is not, and what stays is
	// after half of them.
	Window = 9
	// Learned is how many it takes at least.
	Learned = 3
)

// A detector is told of the live heap at the end of each collection. It is not safe for concurrent
// use.
type detector struct {
	threshold Threshold
	last      []int64 // at most Window, the oldest first
	seen      int64   // how much was alive when the jump that goes on was dealt with; 0: there is none
}

// Ended is to be called for each collection, with how much it found alive. usual is the median of
// those before it, and jumped says that this one exceeds the threshold, and so does what was seen
// of the same jump, if any was.
func (d *detector) Ended(live int64) (usual int64, jumped bool) {
	usual = d.Usual()
	over := d.Ready() && live > d.threshold.Limit(usual)
	if !over {
		d.seen = 0
	}
	if len(d.last) == Window {
		d.last = append(d.last[:0], d.last[1:]...)
	}
	d.last = append(d.last, live)
	return usual, over && (d.seen == 0 || live > d.threshold.Limit(d.seen))
}

// Seen says that a jump was dealt with, at which so much was alive. It is told of again when it is
// over and comes again, or exceeds the threshold above that.
func (d *detector) Seen(live int64) { d.seen = live }

// Ready reports whether it is known what is usual.
func (d *detector) Ready() bool { return len(d.last) >= Learned }

// Usual is the median of the last collections, the smaller one in the middle; 0 if there was none.
func (d *detector) Usual() int64 {
	if len(d.last) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d.last))
	return sorted[(len(sorted)-1)/2]
}
