package growth

import (
	"fmt"

	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
)

// Memory that is mapped without a file is known as a difference: all that there is, without the Go
// runtime's. Between two snapshots other things move it, too: what a scan has mapped is given back late,
// and a sanitizer (-race, -asan, -msan) maps more as the program runs. One such fall hides the growth of
// a batch. So it is also measured from the first call of a batch to the last.

// countMapped begins to measure what is mapped, and returns what ends it.
func (x *Experiment) countMapped() (end func()) {
	if x.Resources == nil {
		return func() {}
	}
	before, err := ledger.AnonymousBytes()
	return func() {
		if after, failed := ledger.AnonymousBytes(); err == nil && failed == nil {
			x.mapped += after - before
		}
	}
}

// mapping is memory that grew with the calls of each batch so far; nil if none did. It may be gone by
// the next snapshot, or be a sanitizer's.
func (x *Experiment) mapping() *resource {
	r := &resource{kind: ledger.Mapping, name: ledger.Anonymous, own: x.series(func(m *moment) int64 { return m.mapped })}
	if !r.keepsPace() {
		return nil
	}
	return r
}

// mappedInCalls takes the figures of the calls alone for memory without a file, where the snapshots'
// do not keep pace and most of what the calls have mapped is there in the end.
func (x *Experiment) mappedInCalls(r *resource) {
	if r.kind != ledger.Mapping || r.name != ledger.Anonymous || r.keepsPace() {
		return
	}
	if m := x.mapping(); m != nil && 2*r.own.grown() >= m.own.grown() {
		r.own = m.own
	}
}

// noteUnjudged says that memory grows of which it cannot be told whose it is.
func noteUnjudged(r *resource) string {
	return fmt.Sprintf("could not tell, and did not judge: %s, which is mapped by op or by the sanitizer (run it without -race, -asan and -msan): %s",
		r.rate(), r.own.show(r.kind.Counted()))
}
