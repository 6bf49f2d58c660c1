package growth

import (
	"math"
	"slices"

	"github.com/leakgate/leakgate/internal/engine/nativeheap"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// A moment is what one snapshot found, after so many calls of op.
type moment struct {
	calls      int64
	eval       *check.Evaluation
	forest     tree.Forest
	goroutines map[GoroutineOrigin]Goroutines
	ledger     *ledger.Ledger   // nil: it cannot be had
	native     *nativeheap.Heap // what C code had, which the ledger has, too; nil: that cannot be told
	mapped     int64            // bytes, see countMapped
	doubt      error            // why the snapshot is not good enough for a pass, if it is not

	counted map[tree.GrowthKey]figures // what figures has returned before
	types   map[string]int64           // objects of the program's types; nil until they are counted
}

// A measure is one of the figures that a branch may grow in.
type measure int

const (
	inObjects measure = iota
	inEntries         // of maps
	inBytes
	measures // how many there are
)

// figures are a branch's own, by measure.
type figures [measures]int64

// figures returns those of each path and type. They are added up once, since the forest stays.
func (m *moment) figures() map[tree.GrowthKey]figures {
	if m.counted != nil {
		return m.counted
	}
	found := make(map[tree.GrowthKey]figures)
	m.forest.All(func(b *tree.Branch) bool {
		f := found[b.GrowthKey()]
		f[inObjects] += b.Objects
		f[inEntries] += b.Elems
		f[inBytes] += b.Bytes
		found[b.GrowthKey()] = f
		return true
	})
	m.counted = found
	return found
}

// A series is one figure at each of the snapshots, and the calls of op before each.
type series struct {
	calls  []int64
	values []int64

	moreCalls, more []int64 // those of further batches
}

func (s series) grown() int64 { return s.values[len(s.values)-1] - s.values[0] }

func (s series) called() int64 { return s.calls[len(s.calls)-1] - s.calls[0] }

func (s series) perCall() float64 { return float64(s.grown()) / float64(s.called()) }

// What growth must come to, to be taken for a leak.
const (
	minGrown        = 3    // objects or goroutines, over all batches
	minGrownPerCall = 0.01 // objects or goroutines
	minGrownBytes   = 64
	minBytesPerCall = 0.5
	// Of what grew by less than this share of what was there, more bytes a call are asked for:
	// pieces that are allocated and freed by turns make small differences by chance.
	minByteShare        = 0.25
	clearlyBytesPerCall = 4

	// Objects of a batch may be fewer by this share than what is proportional to its calls, and by
	// the standard deviation of what happens by chance. Batches double: what has grown by the same
	// amount in each (a logarithm) is off by more.
	tolerance = 0.3
	// Bytes per call of a batch may fall to this share of those in a batch before. Backing arrays
	// grow by steps of 25 to 100 % (go1.26 runtime/slice.go, nextslicecap), so that a batch may get
	// half of what it is due; a logarithm makes 1/4 over three batches.
	minByteRatio = 0.35
	// Where the last batch adds more per call than this many times all batches before, those must
	// be a leak by themselves: one late step is none.
	burst = 2
)

// before is the series without its last snapshot.
func (s series) before() series {
	last := len(s.values) - 1
	return series{calls: s.calls[:last], values: s.values[:last]}
}

// endsInBurst reports whether the last batch added much more per call than those before.
func (s series) endsInBurst() bool {
	if len(s.values) < 3 {
		return false
	}
	last := len(s.values) - 1
	rate := float64(s.values[last]-s.values[last-1]) / float64(s.calls[last]-s.calls[last-1])
	return rate > burst*s.before().perCall()
}

// exceeds reports whether more were added than are due, beyond what happens by chance.
func exceeds(added, due float64) bool { return added > (1+tolerance)*due+math.Sqrt(due) }

// fallsShortOf reports whether fewer were added than are due, beyond what happens by chance.
func fallsShortOf(added, due float64) bool { return added < (1-tolerance)*due-math.Sqrt(due) }

// countsKeepPace reports whether objects were added in every batch, and no fewer per call as it
// went on. What grows ever slower (a cache that fills, a logarithm) adds more at first than its
// average, or less in a batch than in those before.
func (s series) countsKeepPace() bool {
	rate := s.perCall()
	if len(s.values) > intervals && s.grown() < minGrown || rate < minGrownPerCall || s.levelsOff() {
		return false
	}
	for i := 1; i < len(s.values); i++ {
		called, added := float64(s.calls[i]-s.calls[0]), float64(s.values[i]-s.values[0])
		batch, inBatch := float64(s.calls[i]-s.calls[i-1]), float64(s.values[i]-s.values[i-1])
		if inBatch < 1 || exceeds(added, rate*called) {
			return false
		}
		if i > 1 && fallsShortOf(inBatch, (added-inBatch)/(called-batch)*batch) {
			return false
		}
	}
	return !s.endsInBurst() || s.before().countsKeepPace()
}

// keepsPace reports whether the figure grew in every batch, in proportion to its calls or faster.
func (s series) keepsPace(m measure) bool {
	if m == inBytes {
		return s.bytesKeepPace()
	}
	return s.countsKeepPace()
}

// isFalling reports whether each rate is lower than the one before, and the last at most half the
// first: steps do not make that, a square root does.
func isFalling(rates []float64) bool {
	for i := 1; i < len(rates); i++ {
		if rates[i] >= rates[i-1] {
			return false
		}
	}
	return 2*rates[len(rates)-1] <= rates[0]
}

// bytesKeepPace is countsKeepPace for the bytes of memory that grows in steps.
func (s series) bytesKeepPace() bool {
	if len(s.values) > intervals && s.grown() < minGrownBytes || s.perCall() < minBytesPerCall || s.bytesLevelOff() {
		return false
	}
	if len(s.values) > intervals && float64(s.grown()) < minByteShare*float64(s.values[0]) && s.perCall() < clearlyBytesPerCall {
		return false
	}
	var rates []float64
	for i := 1; i < len(s.values); i++ {
		rate := float64(s.values[i]-s.values[i-1]) / float64(s.calls[i]-s.calls[i-1])
		if rate <= 0 || i > 1 && rate < minByteRatio*slices.Max(rates) {
			return false
		}
		rates = append(rates, rate)
	}
	if len(rates) > intervals && isFalling(rates) {
		return false
	}
	return !s.endsInBurst() || s.before().bytesKeepPace()
}
