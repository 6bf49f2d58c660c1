package calls

import "github.com/leakgate/leakgate/leakcheck/internal/ledger"

// Anonymous mapped memory is known only as a difference: all of it minus the memory of the Go
// runtime. Other causes change it between two snapshots: the memory that a scan has mapped is
// returned late, and a sanitizer (-race, -asan, -msan) maps more as the program runs. One such fall
// hides the growth of a batch. So anonymous memory is also measured from the first call of a batch
// to the last.

// A mapped is how much anonymous memory calls have mapped.
type mapped struct {
	unknown bool
	bytes   int64
}

// measure begins to measure; end adds the difference.
func (m *mapped) measure() (end func()) {
	if m.unknown {
		return func() {}
	}
	before, err := ledger.AnonymousBytes()
	return func() {
		if after, failed := ledger.AnonymousBytes(); err == nil && failed == nil {
			m.bytes += after - before
		}
	}
}
