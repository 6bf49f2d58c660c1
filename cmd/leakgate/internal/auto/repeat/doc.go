// Package repeat calls the tests and examples of a package again and again, in a process of its
// own, and has leakcheck find what grows with each call. It is linked into test binaries that
// leakgate run -auto builds. A generated file registers the functions, and declares the test that
// calls Run. A file of orders says what to do. Results go to a journal, line by line, so that
// nothing is lost when a test ends the process.
//
// It imports the standard library and leakcheck alone, and its memory does not grow with calls.
package repeat

import "time"

// Orders says what one process is to do.
type Orders struct {
	Journal string // file that events are appended to
	// Functions are repeated in this order. A function whose Took is 0 is tried out first.
	Functions []Function
	// Benchmarks are those whose loops are explored, one after the other, instead of functions.
	Benchmarks []string
	Together   bool      // all functions are one group, however long they take
	Subtests   string    // pattern of tests and subtests to run, as -test.run takes it; "": all
	Label      string    // begins the names of explorations, by which their records are found
	Artifacts  string    // folder for the record
	End        time.Time // when all must be done

	// counts what the module hands out, and what of it is ended, also for functions that leave no
	// goroutines
	Lifetimes bool
	GODEBUG   string // the user's value, for tests to see; "": none

	Parent int // process ID of the command

	// time limit of a call, besides ten times what it took before; beyond it, the process is ended
	Hangs time.Duration

	ProbeEnd time.Time // after this, functions not yet tried out are left out
}

// A Function is a test, an example, a fuzz test with its seeds, or one subtest: a test without its
// other subtests.
type Function struct {
	Name  string        // with a slash: a test and its subtest
	Took  time.Duration // by one call; 0: not tried out yet
	Limit time.Duration // of a call that tries it out; beyond it, the process is ended
	// goroutines that a call started outlast it
	Lingers bool
}

// Limits of what is repeated.
const (
	// maxGroup is how many functions are repeated together, and maxRound how long a call of each of
	// them takes, roughly. Functions are tried out for tryTime before some of them are repeated.
	maxGroup = 48
	maxRound = 100 * time.Millisecond
	// lingering is how many functions whose goroutines outlast a call are repeated together. An
	// exploration waits for what such goroutines wait for.
	lingering = 8
	tryTime   = 4 * time.Second
	// leastTime has to be left for a further group.
	leastTime = 5 * time.Second
	// groupCalls is how many rounds must fit into the time left: those that AssertNoGrowth needs
	// before it fails, 15 in four batches if the first has one call, and as many again for the
	// calls before, snapshots and a busier machine. If nothing grows it needs a fourth of them.
	groupCalls = 36
	// slow is how long a round may take before there are as few of them as can be.
	slow = 200 * time.Millisecond
	// leastCalls is how many calls of a function there are at least after it was tried out.
	leastCalls = 4
	// maxFailures is how often a group may fail before its slower half is left out.
	maxFailures = 3
)

// Status is the result of trying a function out.
type Status string

// The statuses.
const (
	OK         Status = "ok"
	Fails      Status = "fails"      // at its first call, so without leakgate too
	Skips      Status = "skips"      // skips itself
	Short      Status = "short"      // a benchmark's loop ends before it has been repeated
	Once       Status = "once"       // fails when it is called again
	Slow       Status = "slow"       // takes too long for the time left
	Left       Status = "left"       // it is slower than it was, or there was no time for it
	Untold     Status = "untold"     // the time was over before it was known whether it leaves something
	OutOfTime  Status = "outoftime"  // the package's time was over before it was tried out
	Hangs      Status = "hangs"      // a call did not return
	Ended      Status = "ended"      // ended the process
	Unrunnable Status = "unrunnable" // there is no such function
	NoLoop     Status = "noloop"     // a benchmark has no loop that can be held
)

// An Event is a line of the journal.
type Event struct {
	// "begin", "tried", "explore", "explored", "subtests", "hold", "held", "hangs", "end"
	Event string
	Label string `json:",omitempty"` // of an exploration: a group's, or that of a benchmark's loop

	// "tried", "hangs", and "explored" where a function failed
	Function string        `json:",omitempty"`
	Status   Status        `json:",omitempty"` // "tried"
	Took     time.Duration `json:",omitempty"` // "tried": one call
	Lingers  bool          `json:",omitempty"` // "tried": goroutines outlast the call
	Mark     int           `json:",omitempty"` // of the call whose output tells more; see Mark

	Functions []string `json:",omitempty"` // "explore", "subtests"
	Calls     int      `json:",omitempty"` // "explored": of the whole group
	// "explored", "held": what one call hands out, and how much of it is ended; nil: not counted
	Lifetimes map[string]Lifetime `json:",omitzero"`
	Log       []string            `json:",omitempty"` // "explored": what leakcheck said beside its record
}

// A Lifetime is how many objects one call hands out, how many it ends, and how often it hands out
// nothing, because it fails.
type Lifetime struct{ Made, Ended, Nothing float64 }

// ToTests ends the keys of Lifetimes that are of what tests get, by its type.
const ToTests = "@test"

// Mark begins a line of the output, before the number and the name of a call's function. The output
// up to the next mark is that of the call.
const Mark = "\x00leakgate "
