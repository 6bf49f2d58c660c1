package leakcheck

import (
	"fmt"

	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

// A ResourceSelector selects the resources of the operating system that a bound applies to. It
// becomes an Option with None or Max.
type ResourceSelector struct{ of request.ResourceOption }

// Files selects the open descriptors of the process: files, sockets, pipes and the like.
// Descriptors that were open when the process started, that the runtime opens for its poller, and
// that the go command's flags ask for, such as the test log, do not count.
//
//	leakcheck.AssertRetained(t, leakcheck.Files().Max(4))
//
// An assertion with such bounds alone reads /proc, which takes some tenths of a millisecond. It
// collects garbage only if they do not hold: that closes files without references. Scope and Ignore
// have no effect.
func Files() ResourceSelector { return newResources("Files()", ledger.Descriptor) }

// Threads selects the threads of the process, those of the Go runtime and of C included. How many
// the runtime has depends on what the program does: leave room, or use Since.
func Threads() ResourceSelector { return newResources("Threads()", ledger.Thread) }

// Processes selects child processes: those that run, and those that have ended and that nobody has
// waited for.
//
//	leakcheck.AssertRetained(t, leakcheck.Processes().None())
func Processes() ResourceSelector { return newResources("Processes()", ledger.Process) }

func newResources(shown string, k ledger.Kind) ResourceSelector {
	return ResourceSelector{request.ResourceOption{Shown: shown, Kind: k}}
}

// None demands that there are none; with Since, no more than there were.
func (s ResourceSelector) None() Option { return s.bound(".None()", 0) }

// Max allows at most n; with Since, n more than there were.
func (s ResourceSelector) Max(n int64) Option { return s.bound(fmt.Sprintf(".Max(%d)", n), n) }

func (s ResourceSelector) bound(method string, n int64) Option {
	o := s.of
	o.Written, o.Limit, o.None = o.Shown+method, n, method == ".None()"
	return resourceBound{o}
}

// A resourceBound is an Option about resources.
type resourceBound struct{ of request.ResourceOption }

func (b resourceBound) apply(r *request.Request) { r.LimitResources(b.of) }

// String returns the option as it is written in a test.
func (b resourceBound) String() string { return b.of.Written }
