package series

// What has grown with each batch may be as large as the largest batch was, and not grow with the
// number of calls: batches double. A queue's array is as long as the queue ever was, a pool has as
// many workers as calls were under way at once. So what could be that has to grow in further
// batches, none of them larger than the last one.
//
// An array may have twice the room that it needs at one time and just what it needs at another, with
// what lies in the room that nobody uses any more. So one that is as long as the largest batch may
// double by chance. One to which each call adds has at least half as much for each call in the end
// as it had before.
const (
	// someBatches have half as many calls, and twice as many as the last batch had: there are more
	// than twice as many calls as before.
	someBatches = 3
	// allBatches have more than four times as many.
	allBatches = 8
)

// FurtherBatches are the calls of further batches, given those of the last one.
func FurtherBatches(last int) []int {
	all := []int{(last + 1) / 2}
	for len(all) < allBatches {
		all = append(all, last)
	}
	return all
}

const (
	// Objects that the further batches would add, at the rate of the batches before, for their
	// absence to tell anything: by chance there are as few as a quarter of them once in a thousand
	// runs.
	minDue = 12
	// What adds less than this share of what is due in all batches has levelled off: what doubled has
	// added about a quarter, and what each call adds to a third at least.
	minShareDue = 0.3
	// What adds less, or more, than these shares in some batches needs no further ones, less only where
	// that tells anything. What doubled has added two thirds, and what each call adds to has grown at
	// least once.
	flatShareDue, clearShareDue = 0.1, 0.9
)

// IsClear reports whether no further batch is needed to tell whether the series is one of a leak:
// each call of each batch added as many, which the first batch tells from what is as large as a
// batch, or the further batches have told.
func (s *Series) IsClear() bool {
	if s.IsExact() || len(s.More) >= allBatches {
		return true
	}
	added, due := s.further()
	return len(s.More) >= someBatches && (added >= clearShareDue*due || added < flatShareDue*due && due >= minDue)
}

// further returns what the further batches have added, and what they would have at the rate of
// those before.
func (s *Series) further() (added, due float64) {
	if len(s.More) == 0 {
		return 0, 0
	}
	end, last := len(s.More)-1, len(s.Values)-1
	return float64(s.More[end] - s.Values[last]), s.PerCall() * float64(s.MoreCalls[end]-s.Calls[last])
}

// LevelsOff reports whether the number of objects did not go on to grow in the further batches.
func (s *Series) LevelsOff() bool {
	_, due := s.further()
	return due >= minDue && s.BytesLevelOff()
}

// BytesLevelOff is LevelsOff for the bytes of memory that grows in steps: each would have been due.
func (s *Series) BytesLevelOff() bool {
	added, due := s.further()
	return len(s.More) >= someBatches && added < flatShareDue*due || len(s.More) >= allBatches && added < minShareDue*due
}
