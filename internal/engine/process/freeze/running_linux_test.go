//go:build linux && (amd64 || arm64)

package freeze

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/memory/headroom"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// mapped maps zeroed memory of a size.
func mapped(t *testing.T, size int) []byte {
	t.Helper()
	m, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, syscall.Munmap(m)) })
	return m
}

func openRunning(t *testing.T) *Running {
	t.Helper()
	if emulated(t) {
		t.Skip("an emulator's /proc/self/mem has other addresses than the program")
	}
	p, err := OpenRunning()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	return p
}

func TestCopyOfTheRunningProcess(t *testing.T) {
	nothingLeft(t)
	size := uint64(os.Getpagesize())
	m := mapped(t, 4*int(size))
	for i := range m {
		m[i] = byte(1 + uint64(i)/size)
	}
	base := address(m)
	// Memory beyond the end of a mapped file cannot be read even with the right to read it.
	empty, err := os.Create(filepath.Join(t.TempDir(), "empty"))
	require.NoError(t, err)
	_, _, errno := syscall.Syscall6(syscall.SYS_MMAP, uintptr(base+2*size), uintptr(size), syscall.PROT_READ, syscall.MAP_SHARED|syscall.MAP_FIXED, empty.Fd(), 0)
	require.Equal(t, syscall.Errno(0), errno)
	require.NoError(t, empty.Close())
	large := bytes.Repeat([]byte("0123456789abcdef"), 3<<16)
	p := openRunning(t)
	tests := []wantedCopy{
		{"whole pages", Range{Addr: base, Len: 2 * size}, m[:2*size]},
		{"up to the hole", Range{Addr: base + 2*size - 10, Len: 100}, fill(2, 10)},
		{"whole pages up to the hole", Range{Addr: base + size, Len: 3 * size}, m[size : 2*size]},
		{"in the hole", Range{Addr: base + 2*size, Len: 8}, nil},
		{"out of the hole", Range{Addr: base + 3*size - 8, Len: 100}, nil},
		{"behind the hole", Range{Addr: base + 3*size, Len: size}, m[3*size:]},
		{"nothing", Range{Addr: base, Len: 0}, nil},
		{"null", Range{Addr: 0, Len: 8}, nil},
		{"kernel", Range{Addr: 0xffff_8000_0000_0000, Len: 64}, nil},
		{"no address", Range{Addr: 0x1234_5678_9abc_def0, Len: 64}, nil},
		{"wraps around", Range{Addr: math.MaxUint64 - 7, Len: 64}, nil},
		{"odd", Range{Addr: base + 3, Len: 5}, fill(1, 5)},
		{"more than a large page", Range{Addr: addressOf(&large[0]), Len: uint64(len(large))}, large},
	}
	for range 2 { // the second copy follows the first in the same mapping
		got := wantCopies(t, p, tests)
		for i, tt := range tests {
			assert.Equal(t, len(got[i]), cap(got[i]), tt.name)
			if len(got[i]) > 0 {
				assert.Equal(t, tt.Addr%16, uint64(uintptr(unsafe.Pointer(&got[i][0])))%16, "%s: alignment", tt.name)
			}
		}
	}
}

// TestRunningCopyBeyondALimit asks for more than any machine has.
func TestRunningCopyBeyondALimit(t *testing.T) {
	p := openRunning(t)
	_, err := p.Copy([]Range{{Addr: address(mapped(t, os.Getpagesize())), Len: 1 << 44}})
	var short *headroom.Shortage
	require.True(t, errors.As(err, &short), "%v", err)
	assert.Empty(t, p.copies)
}
