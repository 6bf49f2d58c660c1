package refscan

import (
	"iter"
	"runtime"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/engine/debuginfo"
	"github.com/leakgate/leakgate/internal/engine/goruntime"
	"github.com/leakgate/leakgate/internal/engine/gstate"
	"github.com/leakgate/leakgate/internal/engine/snapshot"
	"github.com/leakgate/leakgate/internal/engine/stackmem"
)

// Stacks is where a process's stack memory was when it was frozen. Nothing in it refers to the
// snapshot, so it stays valid after Close. All sizes are in bytes.
//
// The sum over Goroutines and Others is HeapBytes + OSBytes - Unattributed.
type Stacks struct {
	GoVersion string
	Pause     time.Duration // how long the world was stopped

	// Goroutines are those that live, in the runtime's order.
	Goroutines []*GoroutineStack
	// Others are stacks that no living goroutine has, summed up by kind, in the order of the
	// StackKind constants.
	Others []StackSum
	// ForeignThreads are scheduler stacks that the operating system or C allocated: that of the
	// main thread, and with cgo all. No figure of the runtime includes them, nor does a sum here.
	ForeignThreads StackSum

	// HeapBytes and OSBytes are the runtime's own figures at that moment: what runtime/metrics
	// calls /memory/classes/heap/stacks:bytes and /memory/classes/os-stacks:bytes.
	HeapBytes, OSBytes int64
	// Unattributed is what of them was not found with any owner. It should be 0.
	Unattributed int64

	Warnings []string

	index *debuginfo.Index // of the program; nil in one made by hand
}

// A StackKind says what stack memory is used for that no living goroutine has.
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
	// statement. CreatedBy is the function with that statement, which stands at
	// CreatedFile:CreatedLine, and is never inlined; "" for the runtime's first goroutines.
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

// A StackTrace has the frames of a stack. Goroutines that stand in the same place share it: do not
// change it.
type StackTrace struct {
	// Frames are the physical frames, the innermost first. The last is runtime.goexit's, which
	// no goroutine returns to but at its end.
	Frames []StackFrame
	// Base is what lies above the frames: some words that the runtime leaves at the top of every
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

// Stacks tells where the snapshot's stack memory is. A snapshot is taken after a garbage
// collection, which shrinks stacks and frees those of ended goroutines; CaptureStacks shows them as
// they are. The cost is in proportion to the number of frames.
func (s *Snapshot) Stacks() (_ *Stacks, err error) {
	defer public(&err)
	if err := s.in().Opened(); err != nil {
		return nil, err
	}
	if without := s.in().Without(); without != nil {
		return nil, (*UnavailableError)(without)
	}
	defer snapshot.Guard(&err)()
	return readStacks(s.in().Model(), s.in().Index(), s.Pause())
}

// CaptureStacks freezes this process as it is, without waiting, settling or collecting garbage, and
// tells where its stack memory is. It copies goroutines and the used part of their stacks, not the
// heap, so that it suits a large process in production too. Whatever cannot be done is an
// *UnavailableError.
//
// CaptureStacks may be called from several goroutines at once; they and Capture take turns.
func CaptureStacks(opts ...CaptureOption) (s *Stacks, err error) {
	defer public(&err)
	err = snapshot.Stacks(configured(opts), func(m *goruntime.Model, x *debuginfo.Index, pause time.Duration) error {
		s, err = readStacks(m, x, pause)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func readStacks(m *goruntime.Model, index *debuginfo.Index, pause time.Duration) (*Stacks, error) {
	memory, err := stackmem.Read(m)
	if err != nil {
		return nil, snapshot.ModelError(err)
	}
	states, err := gstate.NewStates(m)
	if err != nil {
		return nil, snapshot.ModelError(err)
	}
	s := &Stacks{index: index, GoVersion: runtime.Version(), Pause: pause, HeapBytes: memory.HeapBytes, OSBytes: memory.OSBytes}
	s.ForeignThreads = stackSum("", memory.Threads)
	s.Unattributed = s.HeapBytes + s.OSBytes
	for _, o := range []StackSum{
		stackSum(StackThread, memory.G0), stackSum(StackSignal, memory.GSignal), stackSum(StackCrash, memory.Crash),
		stackSum(StackEnded, memory.Ended),
		stackSum(StackCached, memory.Cache), stackSum(StackPooled, memory.Pool), stackSum(StackLargeFree, memory.Large),
		{StackSystem, 0, memory.OSBytes},
	} {
		if o.Bytes != 0 {
			s.Others = append(s.Others, o)
			s.Unattributed -= o.Bytes
		}
	}

	w := newStackWalker(m)
	labels := make(map[uint64][]*GoroutineStack)
	for _, g := range m.Goroutines {
		state := states.Of(g)
		out := &GoroutineStack{
			ID: state.ID, CreatorID: state.Parent, Lo: g.Lo, Hi: g.Hi, SP: g.SP, State: state.Status,
			WaitReason: state.WaitReason, LockedToThread: state.Locked, Self: g.IsCaller,
		}
		if state.Unwalkable {
			out.Trace = &StackTrace{Unknown: out.Used(), Problem: "the goroutine was running"}
		} else {
			out.Trace = w.trace(g)
		}
		w.origin(out, g)
		out.System = isSystem(out)
		if state.Labels != 0 {
			labels[state.Labels] = append(labels[state.Labels], out)
		}
		s.Unattributed -= out.Size()
		s.Goroutines = append(s.Goroutines, out)
	}
	setLabels(m, labels)
	if err := m.Mem.Err(); err != nil {
		return nil, snapshot.ModelError(err)
	}
	s.Warnings = append(s.Warnings, m.Warnings...)
	return s, nil
}

func stackSum(kind StackKind, s stackmem.Sum) StackSum {
	return StackSum{Kind: kind, Count: s.Count, Bytes: s.Bytes}
}

// isSystem follows runtime/traceback.go, isSystemGoroutine (go1.26), which knows by a flag whether
// the goroutines of finalizers and cleanups are in the user's code; here their frames tell.
func isSystem(g *GoroutineStack) bool {
	switch g.Entry {
	case "runtime.main", "runtime.corostart", "runtime.handleAsyncEvent":
		return false
	case "runtime.runFinalizers", "runtime.runCleanups":
		for _, f := range g.Trace.Frames {
			if !strings.HasPrefix(f.Func, "runtime.") {
				return false
			}
		}
		return true
	}
	return strings.HasPrefix(g.Entry, "runtime.")
}

// FuncNames lists the program's functions, and then those that were inlined wherever they are called,
// once for each call; none if there is no debug information. The latter take longer to find.
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

// PackageNames returns the names of the program's packages whose import path ends otherwise, by
// that path.
func (s *Stacks) PackageNames() map[string]string { return packageNames(s.index) }
