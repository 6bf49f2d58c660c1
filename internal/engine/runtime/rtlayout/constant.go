package rtlayout

// Constants of the runtime that debug information does not have; the same in go1.26 and go1.27.
const (
	PageShift = 13 // runtime/internal/sys: pages of the heap
	PageSize  = 1 << PageShift
	ArenaSize = 1 << ArenaShift

	SpanInUse  = 1 // runtime/mheap.go, mSpanState
	SpanManual = 2 // spans of stacks, and of the runtime itself

	// MaxHeapBits: objects of up to so many bytes have their pointer bits at the end of their span.
	// Larger objects have the address of their type in a header of HeaderSize bytes, unless they
	// have a span to themselves (internal/runtime/gc, MinSizeForMallocHeader).
	MaxHeapBits = 512
	HeaderSize  = 8
	// InlineMarkBits is the size in bytes of the mark bits that the green tea collector keeps
	// behind the pointer bits, in spans of objects of 16 bytes and more
	// (runtime/mgcmark_greenteagc.go, spanInlineMarkBits). A program with this collector has the
	// type named GreenTea.
	InlineMarkBits = 128
	GreenTea       = "runtime.spanInlineMarkBits"

	// TinySpanClass is the span class of blocks of the tiny allocator (runtime/mcache.go): size
	// class 2 (16 bytes), no pointers.
	TinySpanClass = 5
	TinyBlock     = 16
)

// MaxProcessors bounds the list of processors, which a damaged image could make endless.
const MaxProcessors = 1 << 16

// States of goroutines (runtime/runtime2.go).
const (
	Idle      = 0
	Runnable  = 1
	Running   = 2
	Waiting   = 4
	Dead      = 6
	Copystack = 8
	Leaked    = 10
	DeadExtra = 11 // kept for a thread of C
	Scanning  = 0x1000
)

// HasEnded reports whether a goroutine record in a state, without Scanning, belongs to no
// goroutine.
func HasEnded(state uint32) bool { return state == Idle || state == Dead || state == DeadExtra }

// TimerZombie is set in the state of a timer that is still in a heap but is to be removed: it was
// stopped, or it is the timer of a channel that no goroutine waits for (runtime/time.go).
const TimerZombie = 1 << 2
