package collected

import (
	"syscall"
	"testing"
	"unsafe"

	"github.com/leakgate/leakgate/leakcheck"
)

func TestLeakConstant(t *testing.T) {
	leakcheck.ExpectCollected(t, unsafe.StringData("a constant"), "dropped")
}

func TestLeakMapped(t *testing.T) {
	mapped, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	leakcheck.ExpectCollected(t, &mapped[0], "unmapped")
}
