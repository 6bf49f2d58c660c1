// Package peak judges how much of the heap is alive while an operation runs.
package peak

import (
	"fmt"

	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

// A Request has the options of AssertPeak.
type Request struct {
	request.Calls
	Most int64 // bytes that op may add to the live heap
}

// Limit sets the bound; nil stands for a zero PeakBound.
func (r *Request) Limit(most *int64) {
	switch {
	case most == nil:
		r.Problem("a zero PeakBound: make it with MaxBytes")
	case *most < 0:
		r.Problem("MaxBytes(%d): a bound cannot be negative", *most)
	default:
		r.Most = *most
	}
}

// shown is the bound as it is written in a test.
func (r *Request) shown() string { return fmt.Sprintf("MaxBytes(%d)", r.Most) }
