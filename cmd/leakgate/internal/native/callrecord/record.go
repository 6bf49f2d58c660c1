package callrecord

import "github.com/leakgate/leakgate/internal/engine/nativecalls"

// A record is the calls behind native memory, at two moments of a test.
type record struct {
	PID       int
	Maps      string // as in /proc/PID/maps
	Stacks    []stack
	Calls     int64 // of op, between the two moments
	Due       int   // blocks that a hundred of them leave, 0 if that is not known
	TimeNanos int64
}

// A stack is what was called in one way.
type stack struct {
	Function   string   // "malloc", "mmap"
	C          []uint64 // return addresses, innermost first
	Go         []uint64 // those of the Go code that called C
	Base, Last amount   // not freed at the two moments, of what was recorded
}

// An amount is how much there is. Bytes are those that were asked for.
type amount struct{ Blocks, Bytes int64 }

// IsMapping reports whether memory is mapped, not allocated.
func (s *stack) IsMapping() bool { return s.Function == "mmap" || s.Function == "mremap" }

// What comes with a call of op counts from this on, as in AssertNoGrowth: blocks, or bytes.
const (
	minBlocks = 0.05
	minBytes  = 16
)

// Grown is how many blocks and bytes come with each of so many calls; 0 where that is too little to
// count.
func (s *stack) Grown(calls int64) (blocks, bytes float64) {
	if calls <= 0 {
		return 0, 0
	}
	blocks, bytes = float64(s.Last.Blocks-s.Base.Blocks)/float64(calls), float64(s.Last.Bytes-s.Base.Bytes)/float64(calls)
	if blocks < minBlocks && bytes < minBytes {
		return 0, 0
	}
	return blocks, bytes
}

// joinMoments puts the stacks of two moments side by side.
func joinMoments(base, last []nativecalls.Stack) (all []stack) {
	at := make(map[int]int)
	of := func(s *nativecalls.Stack) *stack {
		i, known := at[s.ID]
		if !known {
			i = len(all)
			at[s.ID] = i
			all = append(all, stack{Function: s.Function, C: s.C, Go: s.Go})
		}
		return &all[i]
	}
	for i := range base {
		of(&base[i]).Base = amount{base[i].Blocks, base[i].Bytes}
	}
	for i := range last {
		of(&last[i]).Last = amount{last[i].Blocks, last[i].Bytes}
	}
	return all
}
