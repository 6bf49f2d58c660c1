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
	// in order of time, which those of different threads need not come in
	states := append(s.first[e.arguments[1]], state)
	for i := len(states) - 1; i > 0 && states[i-1].time > states[i].time; i-- {
		states[i-1], states[i] = states[i], states[i-1]
	}
	s.first[e.arguments[1]] = states
}

// at returns the span that an object lies in which was allocated at that time.
func (s *spans) at(object, time uint64) (spanState, bool) {
	page := object * minAlign / pageSize
	for back := uint64(0); back < maxPages && back <= page; back++ {
		states := s.first[page-back]
		i := len(states) - 1
		for i >= 0 && states[i].time > time {
			i--
		}
		if i >= 0 && states[i].class >= 0 && back < states[i].pages {
			return states[i], true
		}
	}
	return spanState{}, false
}
