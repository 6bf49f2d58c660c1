package observe

import (
	"fmt"
	"runtime"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/refscan"
)

// auditLimit is the share of the live bytes by which a scan may differ from the collector's own
// account. Beyond it, the figures are not good enough to judge by.
const auditLimit = 0.005

// AuditFloor is how many bytes a scan may miss for each processor, however small the heap is:
// memory that the collection before the snapshot found alive and that was dropped before the
// snapshot. Above all, freezing the process takes all processors but one away, and with them what
// they cache (go1.26 runtime/proc.go, p.destroy: up to 128 sudogs of 112 bytes, 32 deferred calls,
// write barrier buffers).
const AuditFloor = 32 << 10

// Audit returns why a report cannot be trusted, or nil.
func Audit(r *refscan.Report) error {
	t := r.Totals
	if t.LiveBytes <= 0 {
		return &refscan.UnavailableError{
			Cause:  "the report has no live memory at all, which no Go program has",
			Remedy: "please report this as a bug of leakgate, with the Go version and the program",
		}
	}
	limit := auditedBytes(t)
	if t.ExtraBytes <= limit && t.MissedBytes <= max(limit, AuditFloor*int64(runtime.GOMAXPROCS(0))) {
		return nil
	}
	if r.Collections > 0 && t.ExtraBytes <= limit {
		return &refscan.UnavailableError{
			Cause: fmt.Sprintf("the program collects garbage itself while it allocates: what is alive cannot be told from what has just died: of %s alive %s may be either",
				textfmt.ByteCount(t.LiveBytes), textfmt.ByteCount(t.MissedBytes)),
			Remedy: "before the assertion, stop goroutines that call runtime.GC or debug.FreeOSMemory, or that allocate",
		}
	}
	if r.Undecided && t.ExtraBytes <= limit {
		return &refscan.UnavailableError{
			Cause: fmt.Sprintf("the program goes on allocating, and no garbage collection after the snapshot told what had just died in it: of %s alive %s may have",
				textfmt.ByteCount(t.LiveBytes), textfmt.ByteCount(t.MissedBytes)),
			Remedy: "let the goroutines that allocate come to rest before the assertion, or run less beside the test",
		}
	}
	return &refscan.UnavailableError{
		Cause: fmt.Sprintf("the scan does not agree with the garbage collector: of %s alive it missed %s and found %s too much",
			textfmt.ByteCount(t.LiveBytes), textfmt.ByteCount(t.MissedBytes), textfmt.ByteCount(t.ExtraBytes)),
		Remedy: "please report this as a bug of leakgate, with the Go version and the program",
	}
}

// OnlyMisses reports whether the only error of a report is that the scan missed something.
func OnlyMisses(r *refscan.Report) bool {
	return r.Totals.LiveBytes > 0 && r.Totals.ExtraBytes <= auditedBytes(r.Totals)
}

func auditedBytes(t refscan.Totals) int64 { return int64(auditLimit * float64(t.LiveBytes)) }
