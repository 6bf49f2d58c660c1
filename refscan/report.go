package refscan

import (
	"time"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// A Report is the result of one scan: every reachable heap object, charged once to the root and the
// path of references that keeps it alive. Equal heaps give equal reports; no figure or name depends
// on addresses, goroutine numbers, hash seeds or the order of visits.
//
// A report can be written with encoding/json and read again. A report that was read has all
// figures, and folds and writes profiles as the original does; but Declaration knows nothing.
type Report struct {
	// of the scanned program, such as "go1.26.8"
	GoVersion string `json:"go_version"`
	// the audit: what the scan reached against what the collector found alive
	Totals Totals `json:"totals"`
	// how long the world was stopped for the snapshot
	Pause time.Duration `json:"pause_ns"`
	// why this process was copied in place and not forked; "" if it was forked
	NotForked string `json:"not_forked,omitempty"`
	// what could not be resolved, one sentence each
	Warnings []string `json:"warnings,omitempty"`
	// Collections is how many garbage collections the program made by itself (with runtime.GC, say)
	// during the capture. It matters only where objects were missed: some of them had just become
	// garbage in that case.
	Collections int `json:"collections,omitempty"`
	// Undecided says that the program did not come to rest, and that no collection after the
	// snapshot tells which objects had just become garbage. It, too, matters only where objects
	// were missed.
	Undecided bool `json:"undecided,omitempty"`
	// whether nodes say what they retain; see WithRetained
	Retained bool     `json:"retained,omitempty"`
	Stopped  *Stopped `json:"stopped,omitempty"` // nil in reports of this process
	Roots    []*Node  `json:"roots"`             // in a fixed order: by kind, then by name
	// one node for each type, with all objects of the type; those that retain most come first; if
	// Retained
	Types []*Node `json:"types,omitempty"`

	// Missed lists the objects that are alive but were not reached, by type. Only Type, Objects and
	// Bytes of its nodes are set. Type is "" where it is not known, as for most objects up to 512
	// bytes.
	Missed []*Node `json:"missed,omitempty"`

	// Together lists what the nodes that Fold merges retain together, which is not the sum over
	// these nodes; if Retained. See Node.Together.
	Together []Together `json:"together,omitempty"`

	index *debuginfo.Index // of the scanned program; nil in a report made by hand or read from JSON
}

// Totals is the audit of a scan. Objects are those of the Go heap and bytes are size-class bytes,
// as in runtime.MemStats; the tool's own memory is in none of them.
//
// Where the program did not come to rest, some of what the collection before the snapshot found
// alive is garbage in the snapshot. Objects that the collection after the snapshot finds dead, and
// that the scan did not reach, count neither as alive nor as missed.
type Totals struct {
	LiveObjects       int64 `json:"live_objects"` // what the collector found alive
	LiveBytes         int64 `json:"live_bytes"`
	AttributedObjects int64 `json:"attributed_objects"` // reached and charged to a root
	AttributedBytes   int64 `json:"attributed_bytes"`
	TypedBytes        int64 `json:"typed_bytes"`    // attributed with a known path and type
	MissedObjects     int64 `json:"missed_objects"` // alive but not reached
	MissedBytes       int64 `json:"missed_bytes"`
	ExtraBytes        int64 `json:"extra_bytes"` // reached but not alive
}

// subtractDead subtracts missed objects that had become garbage from the missed and the live
// figures.
func (t *Totals) subtractDead(dead tally) {
	t.MissedObjects, t.LiveObjects = t.MissedObjects-dead.objects, t.LiveObjects-dead.objects
	t.MissedBytes, t.LiveBytes = t.MissedBytes-dead.bytes, t.LiveBytes-dead.bytes
}

// Stopped says how exact a report is of a process that something else stopped, at any instruction
// of its threads: a process with a pid, or a core file. Package refscan/foreign makes such
// snapshots. Equal heaps need not give equal reports then.
type Stopped struct {
	// of the garbage collector: "off", "mark" or "mark termination"
	Phase      string `json:"gc_phase"`
	Threads    int    `json:"threads"`
	Goroutines int    `json:"goroutines"`
	// Interrupted counts goroutines that were running Go code. Words of their innermost frame and
	// their registers are treated as references where they might be references, which may keep
	// garbage in the report. For Lost goroutines that applies to the whole stack.
	Interrupted int `json:"interrupted"`
	Lost        int `json:"lost"`
	// Dangling counts references to memory without an object, which a sound heap does not have.
	// More than 0 means that the image is damaged, or was read wrong.
	Dangling int64 `json:"dangling"`
	// Objects that the last collection of the process found alive, and that no root leads to: they
	// became garbage since, or were missed. Only the next collection could tell. None of the Totals
	// includes them.
	UnreachedObjects int64 `json:"unreached_objects"`
	UnreachedBytes   int64 `json:"unreached_bytes"`
}
