//go:build !linux || (!amd64 && !arm64)

package nativeheap

import "runtime"

// Take is not supported on this system.
func Take() (*Heap, error) {
	return nil, &UnknownError{"C's heap cannot be read on " + runtime.GOOS + "/" + runtime.GOARCH, "run the test on linux/amd64 or linux/arm64"}
}
