package series

import "math"

// A figure that grew with each batch may be as large as the largest batch was, and not grow with
// the number of calls, since batches double. A queue's array is as long as the queue ever was; a
// pool has as many workers as calls were under way at once. So such a figure has to grow in further
// batches, none of them larger than the last one.
//
// An array may have twice the capacity that it needs at one time and just what it needs at another,
// with stale elements in capacity that is not used. So an array that is as long as the largest
// batch may double by chance. An array to which each call adds has at least half as much for each
// call in the end as it had before.
//
// Memory that comes and goes every so many calls, such as a buffer that is flushed when it is full,
// may also be more after each batch by chance. All numbers of calls are about multiples of the
// first. If the first is a little more than the buffer's size, or than a multiple of it, each batch
// leaves twice as many elements as the one before. So further batches are no multiples, and a
// figure that falls in one of them is such a buffer.
var furtherShares = [...]float64{0.5, 0.89, 0.97, 0.91, 0.99, 0.93, 0.96, 0.9, 0.98}

const (
	// someBatches have more than twice as many calls as the last batch had, so the number of all
	// calls more than doubles.
	someBatches = 3
	// allBatches have 8 times as many calls as the last batch, so there are five times as many
	// calls in all.
	allBatches = len(furtherShares)
)

// FurtherBatches returns the calls of each further batch, given those of the last batch.
func FurtherBatches(last int) []int {
	var all []int
	for _, share := range furtherShares {
		all = append(all, int(math.Ceil(share*float64(last))))
	}
	return all
}

const (
	// If the further batches were expected to add fewer than minExpected objects, their absence
	// proves nothing. Of 12 expected objects, chance alone leaves 3 or fewer in one of 400 runs.
	minExpected = 12
	// A figure that adds less than minShare of the expected growth in all further batches has
	// levelled off. A figure that doubled has added about a quarter, and one that each call adds to
	// a third at least.
	minShare = 0.3
	// A figure that adds less than flatShare of the expected growth, or more than clearShare, needs
	// no further batches; less only where minExpected is reached. Example: batches of 10, 10, 20,
	// 40 and 80 calls. An array as long as the largest batch grew from 9 entries at most to 80, in
	// 150 calls. The first three further batches have 190 calls, so 90 entries are expected. If the
	// array doubles by chance it adds 80 of them, 0.89, which is not clear yet.
	flatShare, clearShare = 0.1, 0.9
	// A buffer that leaves twice as many elements after each batch holds more than 16 times what
	// the first batch has left, and the first batch has more calls than the buffer holds.
	manyCalls = 1 << (Intervals + 1)
)

// IsClear reports whether the series needs no further batch to tell a leak. That is so if each
// batch added the same number for each call (a figure as large as a batch adds another number in
// the first batch), and the further batches, if there were any, did not contradict; or if the
// further batches have told. The array of a queue doubles as batches do, and may so look exact.
func (s *Series) IsClear() bool {
	if len(s.More) == 0 {
		return s.IsExact()
	}
	added, expected := s.further()
	switch {
	case len(s.More) >= allBatches:
		return true
	case added >= clearShare*expected && s.IsExact():
		return true
	case len(s.More) < someBatches:
		return false
	}
	return added < flatShare*expected && expected >= minExpected || added >= clearShare*expected && s.Calls[1]-s.Calls[0] < manyCalls
}

// further returns how much the further batches have added, and how much they would have added at
// the rate of the batches before.
func (s *Series) further() (added, expected float64) {
	if len(s.More) == 0 {
		return 0, 0
	}
	end, last := len(s.More)-1, len(s.Values)-1
	return float64(s.More[end] - s.Values[last]), s.PerCall() * float64(s.MoreCalls[end]-s.Calls[last])
}

// Fell reports whether the figure was lower after one of the further batches than after the one
// before, by more than happens by chance. A figure that calls add to does not fall. The first
// further batch has half as many calls as the others, and so half of a figure that is as large as a
// batch.
func (s *Series) Fell() bool {
	for i := 1; i < len(s.More); i++ {
		expected := s.PerCall() * float64(s.MoreCalls[i]-s.MoreCalls[0])
		if float64(s.More[i-1]-s.More[i]) > math.Sqrt(expected) {
			return true
		}
	}
	return false
}

// LevelsOff reports whether the number of objects stopped growing in the further batches, or was
// gone after a wait.
func (s *Series) LevelsOff() bool {
	_, expected := s.further()
	return s.Gone() || s.Fell() || expected >= minExpected && s.BytesLevelOff()
}

// BytesLevelOff is LevelsOff for the bytes of memory that grows in steps. Each of these batches is
// expected to add a step.
func (s *Series) BytesLevelOff() bool {
	added, expected := s.further()
	return s.Gone() || len(s.More) >= someBatches && added < flatShare*expected || len(s.More) >= allBatches && added < minShare*expected
}
