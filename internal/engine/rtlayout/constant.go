package rtlayout

// Facts of the runtime that no debug information has; the same in go1.26 and go1.27.
const (
	PageShift = 13 // runtime/internal/sys: pages of the heap
	PageSize  = 1 << PageShift
	ArenaSize = 1 << ArenaShift

	SpanInUse  = 1 // runtime/mheap.go, mSpanState
	SpanManual = 2 // of stacks, and the runtime's own

	// MaxHeapBits: objects up to this size keep their pointer bits at the end of their span, larger ones
	// a type in front (internal/runtime/gc, MinSizeForMallocHeader), which takes HeaderSize, but for
	// those that have a span to themselves.
	MaxHeapBits = 512
	HeaderSize  = 8
	// InlineMarkBits is the size of what the green tea collector has behind the pointer bits of spans of
	// objects from 16 bytes on, where GreenTea is the name of a type that the program has
	// (runtime/mgcmark_greenteagc.go, spanInlineMarkBits).
	InlineMarkBits = 128
	GreenTea       = "runtime.spanInlineMarkBits"

	// TinySpanClass is that of blocks of the tiny allocator (runtime/mcache.go): size class 2 (16
	// bytes), no pointers.
	TinySpanClass = 5
	TinyBlock     = 16
)

// MaxProcessors bounds the list of processors, which a damaged image could make endless.
const MaxProcessors = 1 << 16

// States of goroutines (runtime/runtime2.go).
const (
	Idle      = 0
	Running   = 2
	Waiting   = 4
	Dead      = 6
	Copystack = 8
	Leaked    = 10
	DeadExtra = 11 // kept for a thread of C
	Scanning  = 0x1000
)

// HasEnded reports whether the record of a goroutine in a state, without Scanning, is nobody's now.
func HasEnded(state uint32) bool { return state == Idle || state == Dead || state == DeadExtra }

// TimerZombie is set in the state of a timer that is still in a heap but is to be removed: it was
// stopped, or is that of a channel that no goroutine waits for (runtime/time.go).
const TimerZombie = 1 << 2
