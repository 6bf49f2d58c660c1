package growth

import (
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
)

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

// hasChunk reports whether calls of op have mapped memory that may be a chunk: one of which each
// call takes a part, without any new object, until another one is mapped. Then all batches run,
// since only a chunk that is used up shows.
func (m *mapped) hasChunk() bool { return m.bytes >= series.MinChunk && !ledger.Sanitized }
