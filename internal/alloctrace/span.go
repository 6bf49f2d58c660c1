package alloctrace

const (
	pageSize = 8192 // of the Go heap, runtime.pageSize
	// maxPages is how many pages a span of small objects has at most; go1.27 has 10
	// (internal/runtime/gc/sizeclasses.go).
	maxPages = 32
	// minAlign is the unit of objects' addresses in a trace (internal/runtime/gc.MinHeapAlign).
	minAlign = 8
	// tinyClass is that of the blocks of 16 bytes that small objects without pointers share.
	tinyClass = 2
)

// spans tells the size of an object by the span that it lies in, at any time of a trace.
type spans struct {
	first map[uint64][]spanState // by the number of its first page
}

// A spanState is what became of a span at a time.
type spanState struct {
	time, pages uint64
	class       int // size class; 0: a large object; -1: no heap span, or none at all
	noscan      bool
}

func (s *spans) add(e *event) {
	state := spanState{time: e.time, class: -1}
	if e.kind != evSpanFree {
		state.pages = e.arguments[2]
		// runtime/traceallocfree.go, traceSpanTypeAndClass: 1, or the span class shifted
		if spanClass := e.arguments[3]; spanClass&1 == 0 {
			state.class = int(spanClass >> 2)
			state.noscan = spanClass>>1&1 == 1
		}
	}
	// In order of time, which those of different threads need not come in. Of two at the same time
	// the one that frees the span is the first.
	states := append(s.first[e.arguments[1]], state)
	for i := len(states) - 1; i > 0 && states[i].before(&states[i-1]); i-- {
		states[i-1], states[i] = states[i], states[i-1]
	}
	s.first[e.arguments[1]] = states
}

func (s *spanState) before(t *spanState) bool {
	return s.time < t.time || s.time == t.time && s.class < 0 && t.class >= 0
}

// at returns the span that an object lies in which was allocated at that time.
func (s *spans) at(object, time uint64) (spanState, bool) {
	page := object * minAlign / pageSize
	for back := uint64(0); back < maxPages && back <= page; back++ {
		if state := stateAt(s.first[page-back], time); state != nil && back < state.pages {
			return *state, true
		}
	}
	return spanState{}, false
}

// skew is by how much the clocks of two processors may differ, in units of the trace's time, which
// is 64 ns.
const skew = 16

// stateAt returns what a span of the heap was at a time; nil: there was none. What one thread did to
// it may seem to come after what another did because of that: then there is a span at the very
// moment before or after.
func stateAt(states []spanState, time uint64) *spanState {
	i := len(states) - 1
	for i >= 0 && states[i].time > time {
		i--
	}
	switch {
	case i >= 0 && states[i].class >= 0:
		return &states[i]
	case i+1 < len(states) && states[i+1].class >= 0 && states[i+1].time-time <= skew:
		return &states[i+1]
	case i > 0 && states[i-1].class >= 0 && time-states[i].time <= skew:
		return &states[i-1]
	}
	return nil
}
