package series

// What has grown with each batch may be as large as the largest batch was, and not grow with the
// number of calls: batches double. A queue's array is as long as the queue ever was, a pool has as
// many workers as calls were under way at once. So what could be that has to grow in further
// batches, none of them larger than the last one.
const (
	// countBatches tell of counts: with half as many calls, and twice as many as the last batch had,
	// there are more than twice as many as before.
	countBatches = 3
	// byteBatches tell of bytes, with more than four times as many calls as before. An array may have
	// twice the room that it needs at one time and just what it needs at another, so that one that is as
	// long as the largest batch may double by chance. One to which each call adds has at least
	// half as much for each call in the end as it had before.
	byteBatches = 8
)

// FurtherBatches are the calls of further batches, given those of the last one.
func FurtherBatches(last int) []int {
	all := []int{(last + 1) / 2}
	for len(all) < byteBatches {
		all = append(all, last)
	}
	return all
}

const (
	// Objects that the further batches would add, at the rate of the batches before, for their
	// absence to tell anything: by chance there are as few as a quarter of them once in a thousand
	// runs.
	minDue = 12
	// What adds less than this share of what is due has levelled off.
	minShareDue = 0.25
	// The same of bytes: an array that doubled has added about a quarter, and one to which each call
	// adds a third at least.
	minBytesDue = 0.3
	// What adds this share of what is due in a batch is a leak, without further ones.
	clearShareDue = 0.5
	// The same of bytes after as many batches as tell of counts: one that doubled by then has added
	// two thirds.
	clearBytesDue = 0.9
)

// IsClear reports whether no further batch is needed to tell whether the series is one of a leak:
// each call of each batch added as many, which the first batch tells from what is as large as a
// batch, or the further batches have told.
func (s *Series) IsClear(bytes bool) bool {
	if s.IsExact() {
		return true
	}
	added, due := s.further()
	if bytes {
		return len(s.More) >= byteBatches || len(s.More) >= countBatches && added >= clearBytesDue*due
	}
	return len(s.More) >= countBatches || len(s.More) > 0 && added >= clearShareDue*due
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

// LevelsOff reports whether the number of objects did not go on to grow in all further batches.
func (s *Series) LevelsOff() bool {
	added, due := s.further()
	return due >= minDue && len(s.More) >= countBatches && added < minShareDue*due
}

// BytesLevelOff is LevelsOff for the bytes of memory that grows in steps: each would have been due.
func (s *Series) BytesLevelOff() bool {
	added, due := s.further()
	return len(s.More) >= byteBatches && added < minBytesDue*due
}
