package leakcheck

import (
	"fmt"

	"github.com/leakgate/leakgate/refscan"
)

// A scan may differ from the collector's own account by this share of the live bytes; beyond it, the
// figures are not good enough to judge by.
const auditLimit = 0.005

// audit returns why a report is not to be trusted, or nil.
func audit(r *refscan.Report) error {
	t := r.Totals
	if t.LiveBytes <= 0 {
		return &refscan.UnavailableError{
			Cause:  "the report has no live memory at all, which no Go program has",
			Remedy: "please report this as a bug of leakgate, with the Go version and the program",
		}
	}
	off := t.MissedBytes + t.ExtraBytes
	if float64(off) <= auditLimit*float64(t.LiveBytes) {
		return nil
	}
	return &refscan.UnavailableError{
		Cause: fmt.Sprintf("the scan does not agree with the garbage collector: of %s alive it missed %s and found %s too much",
			byteCount(t.LiveBytes), byteCount(t.MissedBytes), byteCount(t.ExtraBytes)),
		Remedy: "please report this as a bug of leakgate, with the Go version and the program",
	}
}
