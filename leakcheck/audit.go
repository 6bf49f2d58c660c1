package leakcheck

import (
	"fmt"
	"runtime"

	"github.com/leakgate/leakgate/refscan"
)

// A scan may differ from the collector's own account by this share of the live bytes; beyond it, the
// figures are not good enough to judge by.
const auditLimit = 0.005

// auditFloor is what may be missed for each processor however small the heap is: memory that the
// collection before the snapshot found alive and that was dropped before the snapshot. Above all, freezing
// the process takes all processors but one away, and with them what they cache (go1.26 runtime/proc.go,
// p.destroy: up to 128 sudogs of 112 bytes, 32 deferred calls, write barrier buffers).
const auditFloor = 32 << 10

// audit returns why a report is not to be trusted, or nil.
func audit(r *refscan.Report) error {
	t := r.Totals
	if t.LiveBytes <= 0 {
		return &refscan.UnavailableError{
			Cause:  "the report has no live memory at all, which no Go program has",
			Remedy: "please report this as a bug of leakgate, with the Go version and the program",
		}
	}
	limit := int64(auditLimit * float64(t.LiveBytes))
	if t.ExtraBytes <= limit && t.MissedBytes <= max(limit, auditFloor*int64(runtime.GOMAXPROCS(0))) {
		return nil
	}
	return &refscan.UnavailableError{
		Cause: fmt.Sprintf("the scan does not agree with the garbage collector: of %s alive it missed %s and found %s too much",
			byteCount(t.LiveBytes), byteCount(t.MissedBytes), byteCount(t.ExtraBytes)),
		Remedy: "please report this as a bug of leakgate, with the Go version and the program",
	}
}
