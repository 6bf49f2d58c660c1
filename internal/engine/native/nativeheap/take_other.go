//go:build !linux || (!amd64 && !arm64)

package nativeheap

import (
	"runtime"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
)

// Supported reports whether C's heap can be read on this system.
const Supported = false

// Take is not supported on this system.
func Take() (*Heap, error) { return nil, unsupported() }

// TakeBlocks is not supported on this system.
func TakeBlocks() ([]Block, error) { return nil, unsupported() }

// OfFrozen is not supported on this system.
func OfFrozen(int, *image.Space) (*Contents, error) { return nil, unsupported() }

func unsupported() error {
	return &UnknownError{"C's heap cannot be read on " + runtime.GOOS + "/" + runtime.GOARCH, "run the test on linux/amd64 or linux/arm64"}
}

// OfAnother is not supported on this system.
func OfAnother(int, string, *image.Space) (*Heap, error) { return nil, unsupported() }
