package refscan

import (
	"github.com/leakgate/leakgate/internal/engine/attribute"
	"github.com/leakgate/leakgate/internal/engine/typedheap"
)

// Stopped says how exact a report is of a process that something else stopped, at any instruction
// of its threads: one with a pid, or a core file. Package refscan/foreign has such snapshots. Equal
// heaps need not give equal reports then.
type Stopped struct {
	// of the garbage collector: "off", "mark" or "mark termination"
	Phase      string `json:"gc_phase"`
	Threads    int    `json:"threads"`
	Goroutines int    `json:"goroutines"`
	// Interrupted goroutines ran Go code. What their innermost frame and their registers hold is
	// taken for references where it might be one, so that it may keep garbage in the report. Of
	// lost goroutines that is so for the whole stack.
	Interrupted int `json:"interrupted"`
	Lost        int `json:"lost"`
	// Dangling references lead to memory without an object, which no reference of a sound heap
	// does. More than 0 means that the image is damaged, or was read wrong.
	Dangling int64 `json:"dangling"`
	// What the last collection of the process found alive, and no root leads to: it became garbage
	// since, or was missed. Only the next collection could tell. It is in no figure of Totals.
	UnreachedObjects int64 `json:"unreached_objects"`
	UnreachedBytes   int64 `json:"unreached_bytes"`
}

// phases are the values of runtime.gcphase (runtime/mgc.go, _GCoff).
var phases = [...]string{"off", "mark", "mark termination"}

// describeStop fills in Report.Stopped, and takes out of the totals what nobody can tell.
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
