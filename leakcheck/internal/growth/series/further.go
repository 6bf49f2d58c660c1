package series

import "math"

// What has grown with each batch may be as large as the largest batch was, and not grow with the
// number of calls: batches double. A queue's array is as long as the queue ever was, a pool has as
// many workers as calls were under way at once. So what could be that has to grow in further
// batches, none of them larger than the last one.
//
// An array may have twice the room that it needs at one time and just what it needs at another, with
// what lies in the room that nobody uses any more. So one that is as long as the largest batch may
// double by chance. One to which each call adds has at least half as much for each call in the end
// as it had before.
//
// What comes and goes every so many calls, as a buffer does that is flushed when it is full, may also
// have more after each batch by chance: all numbers of calls are about multiples of the first, so that
// a first one that is a little more than the buffer's size, or than a multiple of it, makes each batch
// leave twice as many as the one before. So further batches are no multiples, and what falls in one
// of them is such a buffer.
var furtherShares = [...]float64{0.5, 0.89, 0.97, 0.91, 0.99, 0.93, 0.96, 0.9, 0.98}

const (
	// someBatches have more than twice as many calls as the last batch had: there are more than twice
	// as many calls as before.
	someBatches = 3
	// allBatches have 8 times as many: there are five times as many.
	allBatches = len(furtherShares)
)

// FurtherBatches are the calls of further batches, given those of the last one.
func FurtherBatches(last int) []int {
	var all []int
	for _, share := range furtherShares {
		all = append(all, int(math.Ceil(share*float64(last))))
	}
	return all
}

const (
	// Objects that the further batches would add, at the rate of the batches before, for their
	// absence to tell anything: by chance there are as few as a quarter of them once in a thousand
	// runs.
	minExpected = 12
	// What adds less than this share of what is expected in all batches has levelled off: what doubled has
	// added about a quarter, and what each call adds to a third at least.
	minShare = 0.3
	// What adds less, or more, than these shares in some batches needs no further ones, less only where
	// that tells anything. What doubled has added two thirds, and what each call adds to has grown at
	// least once.
	flatShare, clearShare = 0.1, 0.9
	// A buffer that leaves twice as many after each batch holds more than 16 times what the first has
	// left, and the first has more calls than it holds.
	manyCalls = 1 << (Intervals + 1)
)

// IsClear reports whether no further batch is needed to tell whether the series is one of a leak:
// each call of each batch added as many, which the first batch tells from what is as large as a
// batch, or the further batches have told.
func (s *Series) IsClear() bool {
	if s.IsExact() || len(s.More) >= allBatches {
		return true
	}
	added, expected := s.further()
	return len(s.More) >= someBatches && (added < flatShare*expected && expected >= minExpected || added >= clearShare*expected && s.Calls[1]-s.Calls[0] < manyCalls)
}

// further returns what the further batches have added, and what they would have at the rate of
// those before.
func (s *Series) further() (added, expected float64) {
	if len(s.More) == 0 {
		return 0, 0
	}
	end, last := len(s.More)-1, len(s.Values)-1
	return float64(s.More[end] - s.Values[last]), s.PerCall() * float64(s.MoreCalls[end]-s.Calls[last])
}

// fell reports whether there was less after one of the further batches than after the one before, by
// more than happens by chance: what calls add to does not fall. The first has half as many calls as
// the others, and so half of what is as large as a batch.
func (s *Series) fell() bool {
	for i := 1; i < len(s.More); i++ {
		expected := s.PerCall() * float64(s.MoreCalls[i]-s.MoreCalls[0])
		if float64(s.More[i-1]-s.More[i]) > math.Sqrt(expected) {
			return true
		}
	}
	return false
}

// LevelsOff reports whether the number of objects did not go on to grow in the further batches.
func (s *Series) LevelsOff() bool {
	_, expected := s.further()
	return s.fell() || expected >= minExpected && s.BytesLevelOff()
}

// BytesLevelOff is LevelsOff for the bytes of memory that grows in steps: a step was expected from each of these batches.
func (s *Series) BytesLevelOff() bool {
	added, expected := s.further()
	return len(s.More) >= someBatches && added < flatShare*expected || len(s.More) >= allBatches && added < minShare*expected
}
