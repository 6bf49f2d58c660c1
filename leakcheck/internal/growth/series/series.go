// Package series judges whether a figure grows with the number of calls of an operation.
package series

import "math"

// Intervals is the number of intervals between snapshots in which every leak must show up; one more
// interval confirms it.
const Intervals = 3

// Minimum growth to be taken for a leak.
const (
	minGrown        = 3    // objects or goroutines, over all batches
	MinGrownPerCall = 0.01 // objects or goroutines
	minGrownBytes   = 64
	MinBytesPerCall = 0.5
	// For operating system resources, and blocks of C code: more of them come and go by chance.
	MinMappedPerCall = 16 // bytes
	MinBlocksPerCall = 0.05
	// A figure that grew by less than minByteShare of its first value needs clearlyBytesPerCall:
	// pieces of memory that are allocated and freed by turns make small differences by chance.
	minByteShare        = 0.25
	clearlyBytesPerCall = 4

	// The objects of a batch may be fewer than is proportional to its calls by this share, and by
	// the standard deviation of chance. Batches double: a figure that grows by the same amount in
	// each (a logarithm) is off by more.
	tolerance = 0.3
	// Bytes per call of a batch may fall to this share of those in a batch before. Backing arrays
	// grow by steps of 25 to 100 % (go1.26 runtime/slice.go, nextslicecap), so that a batch may get
	// half of what is expected; a logarithm makes 1/4 over three batches.
	minByteRatio = 0.35
	// If the last batch adds more than burst times as much per call as all batches before, these
	// must be a leak by themselves: one late step is none.
	burst = 2
)

// A Series is one figure at each of the snapshots, and the calls of op before each.
type Series struct {
	Calls  []int64
	Values []int64

	MoreCalls, More []int64 // after further batches

	// After a wait without calls, and a batch that followed it; LaterCalls is 0 if there was none.
	LaterCalls, Later int64
}

// Grown is how much all batches added to the figure.
//
//go:noinline
func (s *Series) Grown() int64 { return s.Values[len(s.Values)-1] - s.Values[0] }

// Called is how often all batches called op.
//
//go:noinline
func (s *Series) Called() int64 { return s.Calls[len(s.Calls)-1] - s.Calls[0] }

// PerCall is by how much each call added to the figure, on average.
func (s *Series) PerCall() float64 { return float64(s.Grown()) / float64(s.Called()) }

// before is the series without its last snapshot.
func (s *Series) before() *Series {
	last := len(s.Values) - 1
	return &Series{Calls: s.Calls[:last], Values: s.Values[:last]}
}

// IsExact reports whether each batch added the same whole number for each call. Files that other
// processes put into a shared folder do not grow like that.
func (s *Series) IsExact() bool {
	each := int64(math.Round(s.PerCall()))
	for i := 1; i < len(s.Values); i++ {
		if each < 1 || s.Values[i]-s.Values[i-1] != each*(s.Calls[i]-s.Calls[i-1]) {
			return false
		}
	}
	return true
}
