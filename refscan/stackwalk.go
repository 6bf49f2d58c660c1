package refscan

import (
	"encoding/binary"
	"sort"

	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/runtime/gstate"
)

// maxSharedFrames is the depth up to which stacks with equal frames share a trace. Deeper stacks
// are hardly ever equal, and their keys would double the memory that they take.
const maxSharedFrames = 4096

// stackWalker turns stacks into traces. Many goroutines stand in few places, so it caches
// locations, traces and origins.
type stackWalker struct {
	m         *goruntime.Model
	locations map[location]*StackLocation
	traces    map[string]*StackTrace
	origins   map[[2]uint64]origin
	key       []byte
	steps     []step
}

// location is the pc of a frame, and the pc for looking up its position in the source.
type location struct{ pc, callPC uint64 }

// step is a frame as the stack walk found it.
type step struct {
	location
	fn   *goruntime.Func
	size uint64
}

// origin is where goroutines with the same entry and the same go statement come from.
type origin struct {
	entry, createdBy, file string
	line                   int
}

func newStackWalker(m *goruntime.Model) *stackWalker {
	return &stackWalker{
		m: m, locations: make(map[location]*StackLocation),
		traces: make(map[string]*StackTrace), origins: make(map[[2]uint64]origin),
	}
}

// trace walks the stack of a goroutine.
func (w *stackWalker) trace(g *goruntime.Goroutine) *StackTrace {
	w.steps = w.steps[:0]
	var callee *goruntime.Func
	top := g.SP // where the next frame begins
	err := w.m.Frames(g, func(f *goruntime.Frame) error {
		// The innermost frame begins at the goroutine's stack pointer: a call of a nil func leaves
		// its return address below f.SP. There is a gap between two frames where a signal faked a
		// call: the link register is saved in it (arm64).
		if n := len(w.steps); n > 0 && f.SP > top {
			w.steps[n-1].size += f.SP - top
			top = f.SP
		}
		w.steps = append(w.steps, step{location{f.PC, f.CallPC(callee)}, f.Func, f.FP - top})
		callee, top = f.Func, f.FP
		return nil
	})
	above, problem := g.Hi-top, ""
	if err != nil {
		problem = err.Error()
	} else if len(w.steps) == 0 {
		problem = "no function of Go holds its pc"
	}
	if len(w.steps) > maxSharedFrames {
		return w.build(above, problem)
	}
	w.key = append(w.key[:0], problem...)
	w.key = binary.LittleEndian.AppendUint64(w.key, above)
	for _, s := range w.steps {
		w.key = binary.LittleEndian.AppendUint64(w.key, s.pc)
		w.key = binary.LittleEndian.AppendUint64(w.key, s.callPC)
		w.key = binary.LittleEndian.AppendUint64(w.key, s.size)
	}
	if t := w.traces[string(w.key)]; t != nil {
		return t
	}
	t := w.build(above, problem)
	w.traces[string(w.key)] = t
	return t
}

func (w *stackWalker) build(above uint64, problem string) *StackTrace {
	t := &StackTrace{Frames: make([]StackFrame, len(w.steps)), Problem: problem}
	if problem == "" {
		t.Base = int64(above)
	} else {
		t.Unknown = int64(above)
	}
	for i, s := range w.steps {
		t.Frames[i] = StackFrame{StackLocation: w.location(s), Size: int64(s.size)}
	}
	return t
}

func (w *stackWalker) location(s step) *StackLocation {
	if l := w.locations[s.location]; l != nil {
		return l
	}
	calls := w.m.Calls(s.fn, s.callPC)
	fn := calls[len(calls)-1]
	l := &StackLocation{Func: fn.Name, File: fn.File, Line: fn.Line, StartLine: fn.StartLine, Wrapper: s.fn.Wrapper()}
	for _, c := range calls[:len(calls)-1] {
		l.Inlined = append(l.Inlined, InlinedCall{Func: c.Name, File: c.File, Line: c.Line, StartLine: c.StartLine})
	}
	w.locations[s.location] = l
	return l
}

// origin fills in the entry function and the creator of a goroutine.
func (w *stackWalker) origin(out *GoroutineStack, g *goruntime.Goroutine) {
	key := [2]uint64{g.StartPC, g.GoPC}
	o, ok := w.origins[key]
	if !ok {
		if f := w.m.Entry(g); f != nil {
			o.entry = f.Name
		}
		if f, file, line := w.m.Creator(g); f != nil {
			o.createdBy, o.file, o.line = f.Name, file, line
		}
		w.origins[key] = o
	}
	out.Entry, out.CreatedBy, out.CreatedFile, out.CreatedLine = o.entry, o.createdBy, o.file, o.line
}

// setLabels sets the profiler labels of goroutines, given by the addresses of their label sets.
func setLabels(m *goruntime.Model, holders map[uint64][]*GoroutineStack) {
	addrs := make([]uint64, 0, len(holders))
	for a := range holders {
		addrs = append(addrs, a)
	}
	sort.Slice(addrs, func(i, j int) bool { return addrs[i] < addrs[j] })
	for addr, set := range gstate.LabelSets(m, addrs) {
		labels := make([]StackLabel, len(set))
		for i, l := range set {
			labels[i] = StackLabel(l)
		}
		sort.Slice(labels, func(i, j int) bool { return labels[i].Key < labels[j].Key })
		for _, g := range holders[addr] {
			g.Labels = labels
		}
	}
}
