package request

import (
	"cmp"
	"context"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/native"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
)

// A Process is another process, which assertions look into.
type Process interface {
	String() string
	// Open makes ready to look into it; Close gives back what that took.
	Open(context.Context) error
	Close()
	// Modules are those that its program was built of, nil if that is not known or it is not open.
	Modules() *symbol.Modules

	Observe(context.Context, observe.Needs) (*observe.Observation, error)
	Resources(test string) (*ledger.Ledger, error)
	Malloc() (*native.Heap, error)
}

// LookInto makes the request one about another process. err is why it cannot be.
func (r *Request) LookInto(p Process, err error) {
	switch {
	case err != nil:
		r.Problem("InProcess: %v", err)
	case r.Process != nil:
		r.Problem("InProcess is given twice: an assertion is about one process")
	default:
		r.Process = p
	}
}

// Close gives back what it took to look into another process.
func (r *Request) Close() {
	if r.Process != nil {
		r.Process.Close()
	}
}

// checkProcess finds options that make no sense for another process.
func (r *Request) checkProcess() {
	of := func(name string) string { return cmp.Or(name, "this process") }
	about := ""
	if r.Process != nil {
		about = r.Process.String()
	}
	if b := r.Baseline; b != nil && b.Of != about {
		r.Problem("Since: the baseline is of %s, and the assertion about %s; both take InProcess", of(b.Of), of(about))
	}
	if r.Unscoped && len(r.Scope) > 0 {
		r.Problem("Scope: which packages %s has is not known; leave it out", r.Process)
	}
	if r.Process == nil {
		return
	}
	for _, b := range r.Bounds {
		if b.Selector.Kind == selectType {
			r.Problem("%s: types of this test are not those of %s; name the type as it is called there, such as TypeNamed(\"*main.Session\")", b, r.Process)
		}
		if b.Cut.Native {
			r.Problem("%s: what holds blocks of C's malloc is not known in %s; leave out WithNative", b, r.Process)
		}
	}
	if r.Native {
		r.Problem("NativeMemory().Recorded(): what holds blocks of C's malloc is not known in %s; leave it out", r.Process)
	}
}
