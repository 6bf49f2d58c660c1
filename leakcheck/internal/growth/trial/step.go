package trial

import (
	"time"

	"github.com/leakgate/leakgate/leakcheck/internal/calls"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
)

// An Action is what an experiment does next.
type Action int

const (
	Batch   Action = iota // a batch of calls, and a snapshot
	Confirm               // the same, while the allocations of the calls are recorded
	Settle                // a wait, and a snapshot that replaces the last one
	Further               // a further batch, and a snapshot
	Outlast               // wording.Wait without calls, then a batch and a snapshot

	// the others end the trial
	Conclude  // Judgement is the last one
	OpFailed  // op has failed the test, so that there is no verdict
	OutOfTime // there is no time for more calls, or no memory
	NoRoom    // a limit of the system leaves no room for more calls
	CutShort  // Err keeps the trial from a verdict; what grew until then is known
	Unknown   // Err keeps the trial from a verdict
)

// A Step is what an experiment does next.
type Step struct {
	Action    Action
	Calls     int // of a batch
	Judgement *Judgement
	Err       error
}

// A Result is what became of a step that does not end the trial.
type Result struct {
	End      calls.End         // why there were not all calls
	Snapshot *finding.Snapshot // nil: there is none
	Err      error             // why there is none
	Waited   bool              // Settle waited for timers that may work for many calls
}

// Means is what there is for further steps.
type Means struct {
	*calls.Cost
	Snapshot time.Duration        // how long the slowest one took
	Left     func() time.Duration // time, endless if there is no limit
	Room     func() int           // how many more calls stay below the limits of the system
	Seed     uint64               // differs from process to process
}

// endless is how much time is left of a budget without an end.
const endless = 1<<63 - 1

func (m *Means) allows(d time.Duration) bool { return m.Left() > d }

// timeFor is how long so many calls take, and a snapshot after them.
func (m *Means) timeFor(calls int) time.Duration {
	return 2*m.Snapshot + 2*m.Slowest + time.Duration(calls)*2*m.Usual()
}

// hasTimeFor reports whether there is time for this number of calls and a snapshot after them.
func (m *Means) hasTimeFor(calls int) bool { return m.allows(m.timeFor(calls)) }

// A Judgement is what a history shows.
type Judgement struct {
	Growth  *finding.Growth
	Mapping *finding.Resource // mapped memory that grows in chunks, so that more batches have to tell; nil: none
	Misuse  bool              // the assertion itself is wrong
	Err     error             // why the verdict is unknown

	goesOn bool // something grew with each batch, or may have
}

// Fails reports whether something grew with each batch.
func (j *Judgement) Fails() bool { return !j.Misuse && j.Err == nil && !j.Growth.None() }

// Passes reports whether nothing grew with each batch.
func (j *Judgement) Passes() bool { return !j.Misuse && j.Err == nil && j.Growth.None() }
