package nativeholders

import (
	"os"
	"syscall"
	"testing"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// TestPages finds the pages of a mapping that were written to. Without a page map all pages count
// as used.
func TestPages(t *testing.T) {
	size := uint64(os.Getpagesize())
	mem, err := syscall.Mmap(-1, 0, int(4096*size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Munmap(mem)) }()
	require.NoError(t, syscall.Madvise(mem, syscall.MADV_NOHUGEPAGE))
	at := uint64(uintptr(unsafe.Pointer(&mem[0])))
	all := image.Range{Addr: at, Len: uint64(len(mem))}
	for _, page := range []uint64{0, 1, 4000, 4095} {
		mem[page*size+8] = 1
	}
	p := openPages(os.Getpid())
	defer p.close()
	assert.Equal(t, []image.Range{{Addr: at, Len: 2 * size}, {Addr: at + 4000*size, Len: size}, {Addr: at + 4095*size, Len: size}}, p.used(all))
	part := image.Range{Addr: at + 16, Len: 4000 * size}
	assert.Equal(t, []image.Range{{Addr: at + 16, Len: 2*size - 16}, {Addr: at + 4000*size, Len: 16}}, p.used(part))
	assert.Equal(t, []image.Range{all}, openPages(-1).used(all))
}

func TestBetween(t *testing.T) {
	others := []image.Range{{Addr: 10, Len: 10}, {Addr: 30, Len: 5}, {Addr: 100}}
	for _, tt := range []struct {
		r    image.Range
		want []image.Range
	}{
		{image.Range{Addr: 0, Len: 50}, []image.Range{{Addr: 0, Len: 10}, {Addr: 20, Len: 10}, {Addr: 35, Len: 15}}},
		{image.Range{Addr: 12, Len: 3}, nil},
		{image.Range{Addr: 15, Len: 10}, []image.Range{{Addr: 20, Len: 5}}},
		{image.Range{Addr: 40, Len: 10}, []image.Range{{Addr: 40, Len: 10}}},
	} {
		assert.Equal(t, tt.want, between(tt.r, others), "%v", tt.r)
	}
}
