// Package peak judges how much of the heap is alive while an operation runs.
package peak

import "fmt"

// A Request has the options of AssertPeak. Options that make no sense leave a sentence in
// Problems, which the assertion reports.
type Request struct {
	Most               int64 // bytes that op may add to the live heap
	Iterations, Warmup int   // 0 if not given
	Problems           []string
}

// Problem notes an option that makes no sense.
func (r *Request) Problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
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
