//go:build !linux || (!amd64 && !arm64)

package freeze

import (
	"errors"
	"fmt"
	"runtime"
	"time"
)

// Supported says whether processes can be frozen on this system.
const Supported = false

// Process is a frozen copy of this process. There is none on this system.
type Process struct{}

// Take returns an error that wraps errors.ErrUnsupported.
func Take() (*Process, error) { return nil, unsupported() }

// TakeWhen returns an error that wraps errors.ErrUnsupported.
func TakeWhen(func() bool) (*Process, error) { return nil, unsupported() }

// TakeOnDisk is TakeWhen.
func TakeOnDisk(int64, func() bool) (*Process, error) { return nil, unsupported() }

// DiskShare is unused on this system.
const DiskShare = 3

// ErrNoDisk is unused on this system.
var ErrNoDisk = errors.New("no snapshots on this system")

// Caller returns zeros.
func (p *Process) Caller() (pc, sp uintptr) { return 0, 0 }

// CallerG returns 0.
func (p *Process) CallerG() uintptr { return 0 }

// PID returns 0.
func (p *Process) PID() int { return 0 }

// Pause returns 0.
func (p *Process) Pause() time.Duration { return 0 }

// Frozen returns 0.
func (p *Process) Frozen() time.Duration { return 0 }

// Copy returns an error that wraps errors.ErrUnsupported.
func (p *Process) Copy([]Range) ([][]byte, error) { return nil, unsupported() }

// Release returns nil.
func (p *Process) Release() error { return nil }

// Close returns nil.
func (p *Process) Close() error { return nil }

// NotForked returns "".
func NotForked([]Range) string { return "" }

func unsupported() error {
	return &Error{
		Op:     "snapshot",
		Remedy: "use linux/amd64 or linux/arm64",
		Err:    fmt.Errorf("unsupported on %s/%s: %w", runtime.GOOS, runtime.GOARCH, errors.ErrUnsupported),
	}
}
