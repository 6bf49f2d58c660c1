package edges

import (
	"iter"
	"runtime"

	"github.com/leakgate/leakgate/internal/engine/memory/parallel"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// A Layout says where in a graph the lists of a heap's objects lie. The objects of a task lie next
// to each other there, so that several goroutines can write the lists of several tasks.
type Layout struct {
	m     *goruntime.Model
	tasks []task
	room  uint64 // for the references of all objects: as many as there are words
}

// A task is some spans, whose objects' references lie in the graph from index at on.
type task struct {
	first, last int
	at          uint32

	_ [0]func() // is not compared: the comparison would be code
}

// taskSize is how many references a task has room for, unless it is a single larger span.
const taskSize = 1 << 18

// Plan divides the spans of a heap into tasks.
func Plan(m *goruntime.Model) *Layout {
	l := &Layout{m: m}
	room := uint64(taskSize)
	for i := range m.Spans {
		s := &m.Spans[i]
		if s.NoScan {
			continue
		}
		words := uint64(s.NElems) * (s.ElemSize / 8)
		if room += words; room > taskSize {
			l.tasks, room = append(l.tasks, task{first: i, at: uint32(l.room)}), words
		}
		l.tasks[len(l.tasks)-1].last = i + 1
		l.room += words
	}
	return l
}

// New returns a graph with room for the lists of objects and for more edges behind them, which the
// writer writes. It returns false if vertices or edges are too many to be numbered.
func (l *Layout) New(vertices, more uint64) (g *Graph, behind Writer, ok bool) {
	g, ok = New(vertices, l.room+more)
	return g, Writer{Graph: g, At: uint32(l.room)}, ok
}

// Objects calls write for each object with pointers, in several goroutines, with a writer for the
// object's list.
func (l *Layout) Objects(g *Graph, write func(w *Writer, s *goruntime.Span, obj uint32)) {
	parallel.Share(min(runtime.GOMAXPROCS(0), len(l.tasks)), len(l.tasks), 1, func(_ int, mine iter.Seq[int]) {
		w := Writer{Graph: g}
		for i := range mine {
			w.At = l.tasks[i].at
			for k := l.tasks[i].first; k < l.tasks[i].last; k++ {
				s := &l.m.Spans[k]
				l.m.InTime()
				for obj := s.FirstObj; !s.NoScan && obj < s.FirstObj+s.NElems; obj++ {
					write(&w, s, obj)
				}
			}
		}
	})
}
