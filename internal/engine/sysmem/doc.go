// Package sysmem takes memory from the operating system, outside of the Go heap: the collector
// neither counts it nor looks into it, and it goes back to the system when it is given back.
package sysmem

import "github.com/leakgate/leakgate/internal/engine/remedy"

// Take takes so many bytes, all 0.
func Take(bytes int) ([]byte, error) { return take(bytes) }

// Reserve takes address space of which nothing may be touched before Provide.
func Reserve(bytes int) ([]byte, error) { return reserve(bytes) }

// Provide makes part of what Reserve returned memory, all 0 where it was none before.
func Provide(part []byte) error { return provide(part) }

// Release gives back what Take or Reserve returned, as a whole.
func Release(all []byte) error { return release(all) }

// Refused is the error of one of these calls, for a purpose.
func Refused(purpose string, err error) error {
	return &remedy.Error{Call: call, For: purpose, Err: err}
}
