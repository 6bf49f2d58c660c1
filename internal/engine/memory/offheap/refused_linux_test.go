package offheap

import (
	"errors"
	"syscall"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/memory/headroom"
	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
)

// Make refuses memory that does not fit before it requests it, and a refusal of the system is an
// error: memory of the heap does not take its place.
func TestRefusedMemory(t *testing.T) {
	failure := func(n int) (err error) {
		defer func() { err, _ = recover().(error) }()
		Free(Make(n))
		return nil
	}
	if err := failure(int(large) / 4); err != nil {
		t.Error(err)
	}
	var short *headroom.Shortage
	if err := failure(1 << 50); !errors.As(err, &short) {
		t.Errorf("4 PiB: %v", err)
	}
	defer func(n int64) { large = n }(large)
	large = 1 << 60 // no check
	var refused *remedy.Error
	if err := failure(1 << 50); !errors.As(err, &refused) || !errors.Is(err, syscall.ENOMEM) {
		t.Errorf("4 PiB: %v", err)
	}
}
