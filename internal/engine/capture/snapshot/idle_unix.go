//go:build unix

package snapshot

import (
	"syscall"
	"time"

	"github.com/leakgate/leakgate/internal/realtime"
)

// processorTime is the processor time that this process has used, or the system's clock where the
// system does not tell.
func processorTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return realtime.Clock()
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
