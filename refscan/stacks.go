package refscan

import (
	"iter"
	"time"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// Stacks describes where a process's stack memory was when the process was frozen. Nothing in it
// refers to the snapshot, so it stays valid after Close. All sizes are in bytes.
//
// The sum over Goroutines and Others is HeapBytes + OSBytes - Unattributed.
type Stacks struct {
	GoVersion string
	Pause     time.Duration // how long the world was stopped

	// Goroutines are the living goroutines, in the runtime's order.
	Goroutines []*GoroutineStack
	// Others are stacks that no living goroutine has, summed up by kind, in the order of the
	// StackKind constants.
	Others []StackSum
	// ForeignThreads are scheduler stacks that the operating system or C allocated: that of the
	// main thread, and with cgo those of all threads. Neither the runtime's figures nor the sums
	// here include them. The main thread's has no bytes where its size is not known (no limit on
	// stacks, musl).
	ForeignThreads StackSum

	// HeapBytes and OSBytes are the runtime's own figures at that moment: what runtime/metrics
	// calls /memory/classes/heap/stacks:bytes and /memory/classes/os-stacks:bytes.
	HeapBytes, OSBytes int64
	// Unattributed is the part of HeapBytes and OSBytes for which no owner was found. It should be
	// 0.
	Unattributed int64

	Warnings []string

	index *debuginfo.Index // of the program; nil in one made by hand
}

// A StackKind says what stack memory that no living goroutine has is used for.
type StackKind string

const (
	// StackThread is a scheduler stack (g0) of a thread that Go started.
	StackThread StackKind = "g0"
	// StackSignal is a signal stack (gsignal) of a thread.
	StackSignal StackKind = "gsignal"
	// StackCrash is the stack that a thread crashes on when it runs out of its scheduler stack.
	StackCrash StackKind = "gcrash"
	// StackEnded is the stack of a goroutine that ended, kept for the next one.
	StackEnded StackKind = "ended goroutines"
	// StackCached is a free stack in the cache of a processor (P).
	StackCached StackKind = "processor caches"
	// StackPooled is a free stack in the pool of small stacks.
	StackPooled StackKind = "stack pool"
	// StackLargeFree is a free large stack. There are some while a garbage collection is under way.
	StackLargeFree StackKind = "large free stacks"
	// StackSystem is what the operating system allocated in the runtime's name, Stacks.OSBytes.
	StackSystem StackKind = "os stacks"
)

// A StackSum is a number of stacks and their bytes.
type StackSum struct {
	Kind         StackKind
	Count, Bytes int64
}

// A GoroutineStack is a living goroutine and its stack, which occupies the addresses Lo to Hi and
// is used from SP up.
type GoroutineStack struct {
	ID        uint64
	CreatorID uint64 // the goroutine that made it; 0 if none did
	Lo, Hi    uint64
	SP        uint64 // where it stood: in a system call, where it entered it
	Trace     *StackTrace

	// as in tracebacks: "running", "runnable", "syscall", "waiting", "leaked", ...
	State      string
	WaitReason string // as in tracebacks: "chan receive", "select", ...; "" if it does not wait

	// Entry is the goroutine's first function, perhaps a wrapper that the compiler made for the go
	// statement. CreatedBy is the function with that statement, never an inlined one; the statement
	// is at CreatedFile:CreatedLine. CreatedBy is "" for the runtime's first goroutines.
	Entry       string
	CreatedBy   string
	CreatedFile string
	CreatedLine int

	// Labels are its profiler labels (runtime/pprof.Do), sorted by key. Goroutines share the slice:
	// do not change it.
	Labels []StackLabel

	System         bool // it belongs to the runtime (runtime/traceback.go, isSystemGoroutine)
	LockedToThread bool
	Self           bool // it took the snapshot, and its innermost frames are those of this package
}

// Size is all of the stack.
func (g *GoroutineStack) Size() int64 { return int64(g.Hi - g.Lo) }

// Used is the memory of the goroutine's frames.
func (g *GoroutineStack) Used() int64 { return int64(g.Hi - g.SP) }

// Free is the room for further calls before the stack must grow.
func (g *GoroutineStack) Free() int64 { return int64(g.SP - g.Lo) }

// A StackLabel is a profiler label.
type StackLabel struct{ Key, Value string }

// A StackTrace has the frames of a stack. Goroutines with equal stacks share it: do not change it.
type StackTrace struct {
	// Frames are the physical frames, the innermost first. The last is runtime.goexit's, which
	// no goroutine returns to but at its end.
	Frames []StackFrame
	// Base is the memory above the frames: some words that the runtime leaves at the top of every
	// stack.
	Base int64
	// Unknown is used memory whose frames could not be told apart, for the reason in Problem.
	// Almost always it is 0.
	Unknown int64
	Problem string
}

// A StackFrame is a physical frame. Frames at the same place share the StackLocation.
type StackFrame struct {
	*StackLocation
	// Size is from the frame's stack pointer to its caller's: locals, spilled registers, arguments
	// for calls that it makes, and its return address.
	Size int64
}

// A StackLocation is a place in a function.
type StackLocation struct {
	Func      string
	File      string
	Line      int
	StartLine int // of the function
	// Wrapper is set if the compiler made the function only to call another, which may be inlined
	// into it. Every go statement with arguments starts such a function. Tracebacks leave them out.
	Wrapper bool
	// Inlined are the calls that the compiler replaced by their bodies, the innermost first. Their
	// variables lie in this frame, so they have no size of their own.
	Inlined []InlinedCall
}

// An InlinedCall is a function whose body stands inside another.
type InlinedCall struct {
	Func      string
	File      string
	Line      int
	StartLine int
}

// FuncNames yields the program's functions, then the functions that were inlined wherever they are
// called, once for each call; nothing if the stacks were made by hand. The inlined ones take longer
// to find.
func (s *Stacks) FuncNames() iter.Seq[string] {
	return func(yield func(string) bool) {
		if s.index == nil {
			return
		}
		funcs := s.index.Funcs()
		for _, f := range funcs {
			if !yield(f.Name) {
				return
			}
		}
		for _, f := range funcs {
			for _, l := range s.index.Locals(f.Entry) {
				if l.Inline != "" && !yield(l.Inline) {
					return
				}
			}
		}
	}
}

// PackageNames maps import paths to package names, for the program's packages whose import path
// ends in something other than the name.
func (s *Stacks) PackageNames() map[string]string {
	if s.index == nil {
		return nil
	}
	return s.index.PackageNames()
}
