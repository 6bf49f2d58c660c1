//go:build !linux || (!amd64 && !arm64)

package nativecalls

import (
	"runtime"

	"github.com/leakgate/leakgate/internal/engine/rtlayout"
)

// Find is not supported on this system.
func Find() (*Recorder, error) {
	return nil, &UnknownError{"calls of C code are not recorded on " + runtime.GOOS + "/" + runtime.GOARCH, "run the test on linux/amd64 or linux/arm64"}
}

// Start is not supported on this system.
func (r *Recorder) Start(rtlayout.Names, uint64) error { return nil }

// Stop is not supported on this system.
func (r *Recorder) Stop() {}
