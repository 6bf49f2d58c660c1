//go:build !unix

package snapshot

import (
	"time"

	"github.com/leakgate/leakgate/internal/realtime"
)

// processorTime is the system's clock.
func processorTime() time.Duration { return realtime.Clock() }
