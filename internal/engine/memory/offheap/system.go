package offheap

import (
	"sync/atomic"

	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
)

// Kept is how many bytes from Take and Reserve are kept between snapshots. They are no memory of
// the program.
var Kept atomic.Int64

// Take returns zeroed memory of the given number of bytes.
func Take(bytes int) ([]byte, error) { return take(bytes) }

// Reserve returns address space of the given number of bytes, which must not be touched before
// Provide.
func Reserve(bytes int) ([]byte, error) { return reserve(bytes) }

// Provide backs part of what Reserve returned with memory, which is zeroed where there was none
// before.
func Provide(part []byte) error { return provide(part) }

// Release returns to the system all that one call of Take or Reserve returned.
func Release(all []byte) error { return release(all) }

// Refused returns the error of a failed call of this package, with the purpose of the memory.
func Refused(purpose string, err error) error {
	return &remedy.Error{Call: call, For: purpose, Err: err}
}
