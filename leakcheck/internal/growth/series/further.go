package series

// What has grown with each batch may be as large as the largest batch was, and not grow with the
// number of calls: batches double. A queue's array is as long as the queue ever was, a pool has as
// many workers as calls were under way at once. So what could be that has to grow in further
// batches, none of them larger than the last one: half as many calls, and twice as many as that one
// had. With them there are more than twice as many calls as before, so that an array to which each
// call adds gets longer, too.
func FurtherBatches(last int) []int { return []int{(last + 1) / 2, last, last} }

const (
	// Objects that the further batches would add, at the rate of the batches before, for their
	// absence to tell anything: by chance there are as few as a quarter of them once in a thousand
	// runs.
	minDue = 12
	// What adds less than this share of what is due has levelled off. An array to which each call
	// adds gets half of it at least, whatever its steps.
	minShareDue = 0.25
	// What adds this share of what is due in a batch is a leak, without further ones.
	clearShareDue = 0.5
)

// IsClear reports whether the series is one of a leak: each call of each batch added as many, which
// the first batch tells from what is as large as a batch, or those of the further batches did.
func (s *Series) IsClear(bytes bool) bool {
	if s.IsExact() {
		return true
	}
	share := clearShareDue
	if bytes {
		share = minShareDue
	}
	added, due := s.further()
	return len(s.More) > 0 && added >= share*due
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
	_, due := s.further()
	return due >= minDue && s.BytesLevelOff()
}

// BytesLevelOff is LevelsOff for the bytes of memory that grows in steps: each would have been due.
func (s *Series) BytesLevelOff() bool {
	added, due := s.further()
	return len(s.More) == len(FurtherBatches(0)) && added < minShareDue*due
}
