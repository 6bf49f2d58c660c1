package leakcheck

import (
	"math"
	"strings"
)

// A moment is what one snapshot found, after so many calls of op.
type moment struct {
	calls      int64
	eval       *evaluation
	forest     forest
	goroutines map[goroutineOrigin]goroutines
}

// A growthKey is what is compared between snapshots: branches that agree in it are added up.
type growthKey struct{ path, typ string }

func (b *branch) growthKey() growthKey { return growthKey{b.path, b.typ} }

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

// figures returns those of each path and type.
func (m *moment) figures() map[growthKey]figures {
	found := make(map[growthKey]figures)
	m.forest.all(func(b *branch) bool {
		f := found[b.growthKey()]
		f[inObjects] += b.objects
		f[inEntries] += b.elems
		f[inBytes] += b.bytes
		found[b.growthKey()] = f
		return true
	})
	return found
}

// A series is one figure at each of the snapshots, and the calls of op before each.
type series struct {
	calls  []int64
	values []int64
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
	// Of what grew by less than this share of what was there, more bytes a call are asked for: pieces that
	// are allocated and freed by turns make small differences by chance.
	minByteShare        = 0.25
	clearlyBytesPerCall = 4

	// Objects of a batch may differ by this share from what is proportional to its calls, and by the
	// standard deviation of what happens by chance. Batches double: what has grown by the same
	// amount in each (a logarithm) is off by more.
	tolerance = 0.3
	// The slowest growth of bytes, as a share of the fastest, each per call of a batch. Backing arrays grow by
	// steps of 25 to 100 % (go1.26 runtime/slice.go, nextslicecap), so that a batch may get half of what
	// it is due; a logarithm makes 1/4 over three batches.
	minByteRatio = 0.35
)

// countsKeepPace reports whether objects were added in every batch in proportion to its calls.
func (s series) countsKeepPace() bool {
	rate := s.perCall()
	if len(s.values) > intervals && s.grown() < minGrown || rate < minGrownPerCall {
		return false
	}
	for i := 1; i < len(s.values); i++ {
		grown := float64(s.values[i] - s.values[i-1])
		due := rate * float64(s.calls[i]-s.calls[i-1])
		if grown < 1 || math.Abs(grown-due) > tolerance*due+math.Sqrt(due) {
			return false
		}
	}
	return true
}

// keepsPace reports whether the figure grew in every batch in proportion to its calls.
func (s series) keepsPace(m measure) bool {
	if m == inBytes {
		return s.bytesKeepPace()
	}
	return s.countsKeepPace()
}

// bytesKeepPace is countsKeepPace for the bytes of memory that grows in steps.
func (s series) bytesKeepPace() bool {
	if len(s.values) > intervals && s.grown() < minGrownBytes || s.perCall() < minBytesPerCall {
		return false
	}
	if len(s.values) > intervals && float64(s.grown()) < minByteShare*float64(s.values[0]) && s.perCall() < clearlyBytesPerCall {
		return false
	}
	slowest, fastest := math.Inf(1), 0.0
	for i := 1; i < len(s.values); i++ {
		rate := float64(s.values[i]-s.values[i-1]) / float64(s.calls[i]-s.calls[i-1])
		slowest, fastest = min(slowest, rate), max(fastest, rate)
	}
	return slowest > 0 && slowest >= minByteRatio*fastest
}

// withoutTestingOwn leaves out what the testing package keeps: log output, cleanups, contexts. It lives as
// long as the test.
func withoutTestingOwn(f forest) forest {
	rest, _ := f.without(func(b *branch) bool {
		return packageOf(strings.TrimLeft(b.typ, "*[]")) == "testing" || b.parent == nil && b.root.Package == "testing"
	})
	return rest
}

// belongsToGoroutine reports whether a branch is the runtime's record of a goroutine, or of its wait for a
// channel: goroutines are counted by themselves.
func (b *branch) belongsToGoroutine() bool {
	typ := strings.TrimLeft(b.typ, "*")
	return typ == "runtime.g" || typ == "runtime.sudog"
}

// mentionsProgram reports whether a type is, or is made of, one that is not the standard library's.
func (e *environment) mentionsProgram(typ string) bool {
	found := false
	rewriteWords(typ, func(word string) string {
		pkg := packageOf(word)
		found = found || strings.HasPrefix(word, pkg+".") && !e.isStandard(pkg)
		return word
	})
	return found
}

// isStandard reports whether a package is the standard library's: an import path without a dot in its
// first element is, or the module's own.
func (e *environment) isStandard(pkg string) bool {
	pkg = strings.TrimSuffix(pkg, "_test")
	first, _, _ := strings.Cut(pkg, "/")
	_, own := below(e.modulePath, pkg)
	return !own && pkg != e.packagePath && pkg != "main" && !strings.Contains(first, ".")
}
