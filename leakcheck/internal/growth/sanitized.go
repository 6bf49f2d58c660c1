package growth

import (
	"fmt"

	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
)

// With a sanitizer (-race, -asan, -msan) nothing tells memory that op maps from what the sanitizer
// maps as the program runs, above all while a scan does. So it is measured only from the first call of
// a batch to the last; what grows then with each batch is not judged, but said.

// countMapped begins to measure what is mapped, and returns what ends it. Without a sanitizer neither
// does anything: the ledger has it.
func (x *Experiment) countMapped() (end func()) {
	if !ledger.Sanitized || x.Resources == nil {
		return func() {}
	}
	before, err := ledger.AnonymousBytes()
	return func() {
		if after, failed := ledger.AnonymousBytes(); err == nil && failed == nil {
			x.mapped += after - before
		}
	}
}

// mapping is memory that grew with each batch so far, and was not judged; nil if none did.
func (x *Experiment) mapping() *resource {
	r := &resource{kind: ledger.Mapping, name: ledger.Anonymous, own: x.series(func(m *moment) int64 { return m.mapped })}
	if !r.keepsPace() {
		return nil
	}
	return r
}

// noteUnjudged says that memory grows of which it cannot be told whose it is.
func noteUnjudged(r *resource) string {
	return fmt.Sprintf("could not tell, and did not judge: %s, which is mapped by op or by the sanitizer (run it without -race, -asan and -msan): %s",
		r.rate(), r.own.show(r.kind.Counted()))
}
