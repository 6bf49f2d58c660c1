package spikerule

import "slices"

const (
	// Window is how many collections determine what is usual. A single jump does not change the
	// usual; a jump that stays is usual after half of them.
	Window = 9
	// Learned is how many collections are needed at least to know what is usual.
	Learned = 3
)

// A detector finds jumps of the live heap, whose size it is given at the end of each collection. It
// is not safe for concurrent use.
type detector struct {
	threshold   Threshold
	last        []int64 // at most Window, the oldest first
	handledLive int64   // live bytes when the current jump was last dealt with; 0: never
}

// Ended is to be called for each collection, with the bytes that it found alive. usual is the
// median of the collections before it. jumped says that this one exceeds the usual by the
// threshold, and also what was alive when the same jump was dealt with, if it was.
func (d *detector) Ended(live int64) (usual int64, jumped bool) {
	usual = d.Usual()
	over := d.Ready() && live > d.threshold.Limit(usual)
	if !over {
		d.handledLive = 0
	}
	if len(d.last) == Window {
		d.last = append(d.last[:0], d.last[1:]...)
	}
	d.last = append(d.last, live)
	return usual, over && (d.handledLive == 0 || live > d.threshold.Limit(d.handledLive))
}

// Seen says that a jump with so many live bytes was dealt with. It is reported again if it ends and
// comes again, or if the live heap exceeds these bytes by the threshold.
func (d *detector) Seen(live int64) { d.handledLive = live }

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
