package refscan

import (
	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
)

// phases are the values of runtime.gcphase (runtime/mgc.go, _GCoff).
var phases = [...]string{"off", "mark", "mark termination"}

// describeStop fills in Report.Stopped, and takes missed objects out of the totals, since nobody
// can tell whether they are alive.
func (s *Snapshot) describeStop(r *Report, graph *typedheap.Heap, reached *attribute.Result) {
	if !s.in().Stopped() {
		return
	}
	model := s.in().Model()
	stop := &model.Stopped
	r.GoVersion = model.GoVersion()
	r.Stopped = &Stopped{
		Phase: "unknown", Threads: stop.Threads, Goroutines: len(model.Goroutines),
		Interrupted: stop.Interrupted, Lost: stop.Lost, Dangling: graph.Live.Dangling,
		UnreachedObjects: reached.Totals.MissedObjects, UnreachedBytes: reached.Totals.MissedBytes,
	}
	if int(stop.Phase) < len(phases) {
		r.Stopped.Phase = phases[stop.Phase]
	}
	t := &r.Totals
	t.LiveObjects, t.LiveBytes = t.LiveObjects-t.MissedObjects, t.LiveBytes-t.MissedBytes
	t.MissedObjects, t.MissedBytes = 0, 0
}
