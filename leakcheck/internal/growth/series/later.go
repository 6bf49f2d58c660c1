package series

import "math"

// A program that keeps things for some time, as hits of the last ten seconds, takes away what is
// older. So after a wait as long as that, and one more batch, there is as much as this batch adds.

// leftShare is the share of what the calls before the wait have added that may be left of it, and
// leftBy is how many more, beyond what happens by chance.
const (
	leftShare = MinGrownPerCall
	leftBy    = minGrown
)

// latest returns the figure after the last batch before the wait, and the calls until then.
func (s *Series) latest() (calls, value int64) {
	if n := len(s.More); n > 0 {
		return s.MoreCalls[n-1], s.More[n-1]
	}
	return s.Calls[len(s.Calls)-1], s.Values[len(s.Values)-1]
}

// later returns by how much the batch after the wait is expected to have added, at the rate of the
// batches before.
func (s *Series) later() float64 {
	calls, _ := s.latest()
	return s.PerCall() * float64(s.LaterCalls-calls)
}

// Thinned reports whether a part of what the calls had added was gone after the wait, at the least:
// the batch that followed has added less than half of what is expected.
func (s *Series) Thinned() bool {
	if s.LaterCalls == 0 || s.Grown() <= 0 {
		return false
	}
	_, before := s.latest()
	expected := s.later()
	return float64(s.Later-before) < expected/2-math.Sqrt(expected)
}

// Gone reports whether all that the calls had added was gone after the wait.
func (s *Series) Gone() bool {
	if !s.Thinned() {
		return false
	}
	calls, before := s.latest()
	rate, expected := s.PerCall(), s.later()
	first := math.Max(0, float64(s.Values[0])-rate*float64(s.Calls[0])) // before all calls
	added := rate * float64(calls)
	left := float64(s.Later) - expected - first
	return s.Later < before && left <= leftShare*added+leftBy*math.Max(1, rate)+math.Sqrt(expected)
}
