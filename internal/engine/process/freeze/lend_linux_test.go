//go:build linux && (amd64 || arm64)

package freeze

import (
	"syscall"
	"testing"
	"unsafe"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// written is in the data segment, so it is not constant.
var written = [4]uint64{1, 2, 3, 4}

func TestLend(t *testing.T) {
	p := takeForTest(t)
	const text = "a constant of the program"
	r := Range{Addr: uint64(uintptr(unsafe.Pointer(unsafe.StringData(text)))), Len: uint64(len(text))}
	lent := p.Lend(r)
	require.Equal(t, text, string(lent))
	assert.Same(t, unsafe.StringData(text), unsafe.SliceData(lent), "it is not copied")
	copied, err := p.Copy([]Range{r})
	require.NoError(t, err)
	assert.Equal(t, copied[0], lent)

	assert.Nil(t, p.Lend(Range{Addr: addressOf(&written), Len: 32}), "the data segment")
	assert.Nil(t, p.Lend(Range{Addr: addressOf(new([64]byte)), Len: 64}), "the heap")
	assert.Nil(t, p.Lend(Range{Addr: 0, Len: 8}), "null")
	assert.Nil(t, p.Lend(Range{Addr: r.Addr, Len: 1 << 40}), "beyond the mapping")
	assert.Nil(t, p.Lend(Range{Addr: 0xffff_8000_0000_0000, Len: 64}), "the kernel")

	// As if a plugin had been loaded since the last snapshot.
	m, err := syscall.Mmap(-1, 0, syscall.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	require.NoError(t, err)
	defer func() { assert.NoError(t, syscall.Munmap(m)) }()
	m[5] = 7
	later := Range{Addr: address(m), Len: 16}
	assert.Nil(t, p.Lend(later), "it can be written to")
	require.NoError(t, syscall.Mprotect(m, syscall.PROT_READ))
	if lent := p.Lend(later); assert.NotNil(t, lent, "what was refused once is not refused for good") {
		assert.EqualValues(t, 7, lent[5])
	}
	constants.known = nil // the mapping is removed
}

// Adjacent mappings count as one, and a writable mapping ends them.
func TestFindConstant(t *testing.T) {
	page := syscall.Getpagesize()
	size := uint64(page)
	m, err := syscall.Mmap(-1, 0, 3*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, syscall.Munmap(m)) })
	base := address(m)
	protect := func(number, right int) {
		t.Helper()
		require.NoError(t, syscall.Mprotect(m[number*page:(number+1)*page], right))
	}
	whole := Range{Addr: base, Len: 2 * size}
	_, ok := findConstant(whole)
	require.False(t, ok, "it can be written to")
	protect(0, syscall.PROT_READ)
	_, ok = findConstant(whole)
	require.False(t, ok, "half of it can be written to")
	_, ok = findConstant(Range{Addr: base, Len: size})
	require.True(t, ok)
	protect(1, syscall.PROT_READ|syscall.PROT_EXEC)
	protect(2, syscall.PROT_NONE)
	found, ok := findConstant(Range{Addr: base + 8, Len: size})
	require.True(t, ok, "two mappings")
	require.LessOrEqual(t, found.Addr, base)
	require.GreaterOrEqual(t, found.End(), base+2*size)
	_, ok = findConstant(Range{Addr: base, Len: 3 * size})
	require.False(t, ok, "the third page cannot be read")
}
