package request

import "github.com/leakgate/leakgate/leakcheck/internal/ledger"

// A ResourceOption bounds how much of a kind of resource the operating system, or C's malloc, may
// hold for the process.
type ResourceOption struct {
	Shown, Written string // the selector, and all of it, as written in the test
	Kind           ledger.Kind
	None           bool
	Limit          int64
}

// LimitResources adds an option about resources to a request.
func (r *Request) LimitResources(o ResourceOption) {
	switch {
	case o.Shown == "":
		r.Problem("a zero ResourceSelector: start with Files, Threads or Processes")
	case o.Limit < 0:
		r.Problem("%s: a bound cannot be negative", o.Written)
	default:
		r.Resources = append(r.Resources, o)
	}
}
