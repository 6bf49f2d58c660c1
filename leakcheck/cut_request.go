package leakcheck

import (
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/refscan"
)

// A cutRequest asks for what cutting something would free. Its work is in function values, so that a test
// binary which does not ask for it links nothing of what it needs.
type cutRequest struct {
	bounded  bool       // there is a bound on it
	recorded []Selector // what is recorded in a golden file

	check func(*request) // adds to its problems what makes no sense beside the other options
	// scan returns what to do with a snapshot: also, if it is not nil, and a scan with figures of what nodes retain.
	scan     func(a *assertion, also func(*refscan.Snapshot) error) func(*refscan.Snapshot) error
	report   *refscan.Report                                                               // of the last scan
	found    any                                                                           // what that leaves for evaluate, beside the report
	evaluate func(e *evaluation, r *request, s scope, everything forest, env *environment) // completes an evaluation
	note     func(*branch) string                                                          // what a trace says of a branch
}

// A cutLimit is a bound on what cutting would free.
type cutLimit interface {
	String() string
	request(*request) // asks for what it needs
}

// A cutFinding is what was found for a cutLimit.
type cutFinding struct {
	broken   bool
	amount   string
	culprits []*branch             // the one that retains most first
	record   func(*verdict.Result) // completes the last bound of a record
}

// retainedLine begins the lines of a golden file on what cutting would free.
const retainedLine = "retained:"
