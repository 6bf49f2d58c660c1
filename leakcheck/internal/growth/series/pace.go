package series

import (
	"math"
	"slices"
)

// CountsKeepPace reports whether every batch added objects, and no fewer per call as it went on. A
// figure that grows ever slower (a cache that fills, a logarithm) adds more at first than its
// average, or less in a batch than in those before.
func (s *Series) CountsKeepPace() bool {
	rate := s.PerCall()
	if len(s.Values) > Intervals && s.Grown() < minGrown || rate < MinGrownPerCall || s.LevelsOff() {
		return false
	}
	for i := 1; i < len(s.Values); i++ {
		called, added := float64(s.Calls[i]-s.Calls[0]), float64(s.Values[i]-s.Values[0])
		batch, inBatch := float64(s.Calls[i]-s.Calls[i-1]), float64(s.Values[i]-s.Values[i-1])
		if inBatch < 1 || exceeds(added, rate*called) {
			return false
		}
		if i > 1 && fallsShortOf(inBatch, (added-inBatch)/(called-batch)*batch) {
			return false
		}
	}
	return !s.endsInBurst() || s.before().CountsKeepPace()
}

// BytesStepUp reports whether every batch added bytes, and all batches together enough of them.
func (s *Series) BytesStepUp() bool {
	if len(s.Values) > Intervals && s.Grown() < minGrownBytes || s.PerCall() < MinBytesPerCall || s.BytesLevelOff() {
		return false
	}
	if len(s.Values) > Intervals && float64(s.Grown()) < minByteShare*float64(s.Values[0]) && s.PerCall() < clearlyBytesPerCall {
		return false
	}
	for i := 1; i < len(s.Values); i++ {
		if s.Values[i] <= s.Values[i-1] {
			return false
		}
	}
	return true
}

// BytesKeepPace is CountsKeepPace for the bytes of memory that grows in steps.
func (s *Series) BytesKeepPace() bool {
	if !s.BytesStepUp() {
		return false
	}
	var rates []float64
	for i := 1; i < len(s.Values); i++ {
		rate := float64(s.Values[i]-s.Values[i-1]) / float64(s.Calls[i]-s.Calls[i-1])
		if i > 1 && rate < minByteRatio*slices.Max(rates) {
			return false
		}
		rates = append(rates, rate)
	}
	if len(rates) > Intervals && isFalling(rates) {
		return false
	}
	return !s.endsInBurst() || s.before().BytesKeepPace()
}

// MinChunk is the least memory in bytes that is mapped at once for many calls.
const MinChunk = 1 << 20

// ChunksKeepPace reports whether the batches together added several chunks of memory that serve
// many calls each: no batch added a chunk more or less than its calls take on average, and the last
// added as much.
func (s *Series) ChunksKeepPace() bool {
	chunk, rate := s.Grown(), s.PerCall()
	for i := 1; i < len(s.Values); i++ {
		if step := s.Values[i] - s.Values[i-1]; step >= MinChunk {
			chunk = min(chunk, step)
		}
	}
	if len(s.Values) <= Intervals || chunk < MinChunk || s.Grown() < minGrown*chunk {
		return false
	}
	short := 0.0
	for i := 1; i < len(s.Values); i++ {
		short = rate*float64(s.Calls[i]-s.Calls[i-1]) - float64(s.Values[i]-s.Values[i-1])
		if math.Abs(short) > float64(chunk) || s.Values[i] < s.Values[i-1] {
			return false
		}
	}
	return short <= tolerance*float64(chunk)
}

// endsInBurst reports whether the last batch added much more per call than those before.
func (s *Series) endsInBurst() bool {
	if len(s.Values) < 3 {
		return false
	}
	last := len(s.Values) - 1
	rate := float64(s.Values[last]-s.Values[last-1]) / float64(s.Calls[last]-s.Calls[last-1])
	return rate > burst*s.before().PerCall()
}

// exceeds reports whether more were added than are expected, beyond what happens by chance.
func exceeds(added, expected float64) bool { return added > (1+tolerance)*expected+math.Sqrt(expected) }

// fallsShortOf reports whether fewer were added than are expected, beyond what happens by chance.
func fallsShortOf(added, expected float64) bool {
	return added < (1-tolerance)*expected-math.Sqrt(expected)
}

// isFalling reports whether each rate is lower than the one before, and the last at most half the
// first. Growth in steps does not have such rates; a square root does.
func isFalling(rates []float64) bool {
	for i := 1; i < len(rates); i++ {
		if rates[i] >= rates[i-1] {
			return false
		}
	}
	return 2*rates[len(rates)-1] <= rates[0]
}

// Minimum growth of the number of missed objects to be taken for a leak. A scan misses some objects
// by chance, since freezing the process takes processors away with the objects that they have at
// hand, but not one with every fourth call.
const (
	minMissed        = 24
	minMissedPerCall = 0.25
)

// minFrames is the least growth of the frames on the stacks of some goroutines to be taken for a
// leak, unless each call adds the same number: where goroutines wait differs by some frames. It is
// half as much for each batch that is still to come, since batches double.
const minFrames = 64

// FramesKeepPace reports whether the stacks of goroutines get deeper with the calls.
func (s *Series) FramesKeepPace() bool {
	return s.CountsKeepPace() && (s.Grown() >= minFrames>>max(0, Intervals+1-len(s.Values)) || s.IsExact())
}

// MissedGrow reports whether the number of missed objects grows.
func (s *Series) MissedGrow() bool {
	return (len(s.Values) <= Intervals || s.Grown() >= minMissed) && s.PerCall() >= minMissedPerCall && s.CountsKeepPace()
}
