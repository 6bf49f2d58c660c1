// Package repeat calls the tests and examples of a package again and again, in a process of its
// own, and has leakcheck look at what grows with each call. It is linked into test binaries that
// leakgate run -auto builds: a generated file registers the functions, and declares the test that
// calls Run. What to do comes from a file of orders; what came of it goes to a journal, line by
// line, so that nothing is lost when a test ends the process.
//
// It imports the standard library and leakcheck alone, and its memory does not grow with calls.
package repeat

import "time"

// Orders is what one process is to do.
type Orders struct {
	Journal string // file that events are appended to
	// Functions are repeated in this order. One that took no time yet is tried out first.
	Functions []Function
	// Benchmarks whose loops are explored, one after the other, in place of functions.
	Benchmarks []string
	Subtests   string    // pattern for what to run of tests, as -test.run has it; "": all of them
	Label      string    // of the exploration, by which its record is found
	Artifacts  string    // folder for the record
	End        time.Time // when all must be done

	Parent int // the process that it works for

	// how long a call may take before the process is ended, beside ten times what it took before
	Hangs time.Duration

	ProbeEnd time.Time // when what has not been tried out yet is left out
}

// A Function is a test, an example or a fuzz test with its seeds, or what is left of a test when
// all its subtests but one are left out.
type Function struct {
	Name  string        // with a slash: of a test, and of its subtest
	Took  time.Duration // by one call; 0: not tried out yet
	Limit time.Duration // for a call that tries it out, which ends the process
}

// Limits of what is repeated.
const (
	// MaxCall is how long the second call of a function may take.
	MaxCall = time.Second
	// MaxGroup is how long all functions that are repeated together may take for one call each, and
	// groupCalls how many such calls there must be time for: those of AssertNoGrowth before it
	// fails, with its snapshots.
	MaxGroup   = 4 * time.Second
	groupCalls = 50
)

// Status is what came of trying a function out.
type Status string

// The statuses.
const (
	OK         Status = "ok"
	Fails      Status = "fails"      // at its first call, so without leakgate too
	Skips      Status = "skips"      // itself
	Short      Status = "short"      // a benchmark's loop ends before it has been repeated
	Once       Status = "once"       // fails when it is called again
	Slow       Status = "slow"       // takes more than MaxCall
	Left       Status = "left"       // the group would take more than MaxGroup
	OutOfTime  Status = "outoftime"  // the package's time was over before it was tried out
	Hangs      Status = "hangs"      // did not come back
	Ended      Status = "ended"      // ended the process
	Unrunnable Status = "unrunnable" // there is no such function
	NoLoop     Status = "noloop"     // a benchmark has no loop that can be held
)

// An Event is a line of the journal.
type Event struct {
	// "begin", "tried", "explore", "explored", "subtests", "hold", "held", "hangs", "end"
	Event string
	Label string `json:",omitempty"` // "hold", "held": of a benchmark's loop

	// "tried", "hangs", and "explored" where a function failed
	Function string        `json:",omitempty"`
	Status   Status        `json:",omitempty"` // "tried"
	Took     time.Duration `json:",omitempty"` // "tried": one call
	Mark     int           `json:",omitempty"` // of the call whose output tells more; see Mark

	Functions []string `json:",omitempty"` // "explore", "subtests"
	Calls     int      `json:",omitempty"` // "explored": of the whole group
	Log       []string `json:",omitempty"` // "explored": what leakcheck said beside its record
}

// Mark begins a line of the output: after it come the number of a call and of its function. What
// follows is the output of that call, up to the next mark.
const Mark = "\x00leakgate "
