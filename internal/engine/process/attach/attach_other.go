//go:build !(linux && (amd64 || arm64))

package attach

import (
	"errors"
	"runtime"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
)

// Frozen is a process that was stopped.
type Frozen struct{ Result }

// Take is not supported here.
func Take(int, Options) (*Frozen, error) {
	return nil, &remedy.Unavailable{
		Cause:  "processes cannot be looked into on " + runtime.GOOS + "/" + runtime.GOARCH,
		Remedy: "look into a core file (-core), or run this on linux/amd64 or linux/arm64", Err: errors.ErrUnsupported,
	}
}

// Copy implements image.Source.
func (*Frozen) Copy([]image.Range) ([][]byte, error) { return nil, errors.ErrUnsupported }

// Close does nothing.
func (*Frozen) Close() error { return nil }

// Shown returns no process.
func (*Frozen) Shown() int { return 0 }
