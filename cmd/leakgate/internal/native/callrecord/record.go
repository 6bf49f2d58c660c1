package callrecord

import "github.com/leakgate/leakgate/internal/engine/native/nativecalls"

// A record has the calls that allocated native memory, with what was not yet freed at two moments
// of a test.
type record struct {
	PID       int
	Maps      string // as in /proc/PID/maps
	Stacks    []stack
	Calls     int64 // of op, between the two moments
	Due       int   // blocks that a hundred calls of op leave, 0 if unknown
	TimeNanos int64
}

// A stack is one call stack of an allocating function, with its memory at the two moments.
type stack struct {
	Function   string   // "malloc", "mmap"
	C          []uint64 // return addresses, innermost first
	Go         []uint64 // return addresses in the Go code that called C
	Base, Last amount   // recorded and not yet freed, at the first and at the second moment
}

// An amount counts blocks and bytes. Bytes are the requested sizes.
type amount struct{ Blocks, Bytes int64 }

// IsMapping reports whether the stack maps memory (mmap, mremap) instead of allocating it.
func (s *stack) IsMapping() bool { return s.Function == "mmap" || s.Function == "mremap" }

// Growth per call of op counts from these amounts on, as in AssertNoGrowth: of blocks, or of bytes.
const (
	minBlocks = 0.05
	minBytes  = 16
)

// Grown returns the growth per call in blocks and bytes, over so many calls of op. Both are 0 if
// both are below minBlocks and minBytes.
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

// joinMoments joins the stacks of the two moments by their IDs.
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
