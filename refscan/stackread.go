package refscan

import (
	"runtime"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/runtime/gstate"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// Stacks reports where the snapshot's stack memory is. A snapshot is taken after a garbage
// collection, which shrinks stacks and frees those of ended goroutines; CaptureStacks shows stacks
// as they are. The cost is in proportion to the number of frames.
func (s *Snapshot) Stacks() (_ *Stacks, err error) {
	defer public(&err)
	if err := s.in().Opened(); err != nil {
		return nil, err
	}
	defer snapshot.Guard(&err)()
	return readStacks(s.in().Model(), s.in().Index(), s.Pause())
}

// CaptureStacks freezes this process as it is, without waiting, settling or collecting garbage, and
// reports where its stack memory is. It copies goroutines and the used part of their stacks, not
// the heap, so that it suits a large process in production too. Every failure is an
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
	memory, err := gstate.ReadStackMemory(m)
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

func stackSum(kind StackKind, s gstate.StackSum) StackSum {
	return StackSum{Kind: kind, Count: s.Count, Bytes: s.Bytes}
}

// isSystem follows runtime/traceback.go, isSystemGoroutine (go1.26). The runtime has a flag that
// says whether the goroutines of finalizers and cleanups run the user's code; isSystem looks at
// their frames.
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
