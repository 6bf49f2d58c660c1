//go:build linux && (amd64 || arm64)

package freeze

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

func addressOf[T any](p *T) uint64 { return uint64(uintptr(unsafe.Pointer(p))) }

// read fills buf with the memory at addr of the frozen process.
func (p *Process) read(addr uint64, buf []byte) error {
	out, err := p.Copy([]Range{{Addr: addr, Len: uint64(len(buf))}})
	if err != nil {
		return err
	}
	if got := copy(buf, out[0]); got < len(buf) {
		return fmt.Errorf("no readable memory at %#x", addr+uint64(got))
	}
	return nil
}

// holed maps four pages, filled with the numbers 1 to 4, and removes the right to read the third.
func holed(t *testing.T) (base uint64, page int) {
	t.Helper()
	page = os.Getpagesize()
	m, err := syscall.Mmap(-1, 0, 4*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, syscall.Munmap(m)) })
	for i := range m {
		m[i] = byte(1 + i/page)
	}
	require.NoError(t, syscall.Mprotect(m[2*page:3*page], syscall.PROT_NONE))
	return address(m), page
}

func TestCopyOfUnreadableMemory(t *testing.T) {
	if emulated(t) {
		t.Skip("an emulator reads all of a range or nothing")
	}
	nothingLeft(t)
	base, page := holed(t)
	size := uint64(page)
	p := takeForTest(t)
	wantCopies(t, p, []wantedCopy{
		{"whole pages", Range{Addr: base, Len: 2 * size}, append(fill(1, page), fill(2, page)...)},
		{"up to the hole", Range{Addr: base + 2*size - 10, Len: 100}, fill(2, 10)},
		{"whole pages up to the hole", Range{Addr: base + size, Len: 3 * size}, fill(2, page)},
		{"in the hole", Range{Addr: base + 2*size, Len: 8}, nil},
		{"out of the hole", Range{Addr: base + 3*size - 8, Len: 100}, nil},
		{"behind the hole", Range{Addr: base + 3*size, Len: size}, fill(4, page)},
		{"nothing", Range{Addr: base, Len: 0}, nil},
		{"nothing in the hole", Range{Addr: base + 2*size, Len: 0}, nil},
		{"null", Range{Addr: 0, Len: 8}, nil},
		{"kernel", Range{Addr: 0xffff_8000_0000_0000, Len: 64}, nil},
		{"no address", Range{Addr: 0x1234_5678_9abc_def0, Len: 64}, nil},
		{"wraps around", Range{Addr: math.MaxUint64 - 7, Len: 64}, nil},
		{"odd", Range{Addr: base + 3, Len: 5}, fill(1, 5)},
	})
}

// A wantedCopy is a range and the contents wanted for it, as far as they can be read.
type wantedCopy struct {
	name string
	Range
	want []byte
}

// wantCopies copies all ranges at once, and returns the copies.
func wantCopies(t *testing.T, source image.Source, tests []wantedCopy) [][]byte {
	t.Helper()
	ranges := make([]Range, len(tests))
	for i, tt := range tests {
		ranges[i] = tt.Range
	}
	got, err := source.Copy(ranges)
	require.NoError(t, err)
	require.Len(t, got, len(tests))
	for i, tt := range tests {
		assert.True(t, bytes.Equal(tt.want, got[i]), "%s: %d bytes, want %d", tt.name, len(got[i]), len(tt.want))
	}
	return got
}

func fill(b byte, n int) []byte { return bytes.Repeat([]byte{b}, n) }

func TestReadOfUnreadableMemory(t *testing.T) {
	if emulated(t) {
		t.Skip("an emulator reads all of a range or nothing")
	}
	base, page := holed(t)
	p := takeForTest(t)
	buf := make([]byte, 20)
	hole := base + 2*uint64(page)

	require.NoError(t, p.read(hole-20, buf))
	assert.Equal(t, fill(2, 20), buf)

	require.EqualError(t, p.read(hole-4, buf), fmt.Sprintf("no readable memory at %#x", hole))
	require.EqualError(t, p.read(0, buf), "no readable memory at 0x0")
	assert.NoError(t, p.read(0, nil))
}

func TestManyRangesInSeveralCalls(t *testing.T) {
	nothingLeft(t)
	data := make([]uint32, 1<<20)
	for i := range data {
		data[i] = uint32(i)
	}
	p := takeForTest(t)
	var all [][]byte
	var ranges []Range
	for _, step := range []int{3, 77, 4099} { // more ranges than a batch, some of them larger than a page
		ranges = ranges[:0]
		for i := 0; i+step <= len(data) && i/step < 5*batch/2; i += step {
			ranges = append(ranges, Range{Addr: addressOf(&data[i]), Len: uint64(4 * step)})
		}
		got, err := p.Copy(ranges)
		require.NoError(t, err)
		all = append(all, bytes.Join(got, nil))
	}
	clear(data)
	for _, bytes := range all { // what the first call returned is valid after the later ones
		for i := 0; i+4 <= len(bytes); i += 4 {
			require.Equal(t, uint32(i/4), *(*uint32)(unsafe.Pointer(&bytes[i])))
		}
	}
	runtime.KeepAlive(data)
}

func TestCopyOfNonsense(t *testing.T) {
	nothingLeft(t)
	p := takeForTest(t)
	for _, ranges := range [][]Range{
		{{Addr: 1 << 20, Len: math.MaxUint64}},
		{{Addr: 1 << 20, Len: math.MaxInt64}},
		{{Addr: 1 << 20, Len: 1 << 47}, {Addr: 1 << 20, Len: 1 << 47}},
	} {
		_, err := p.Copy(ranges)
		var failure *Error
		require.ErrorAs(t, err, &failure)
	}
	none, err := p.Copy(nil)
	require.NoError(t, err)
	assert.Empty(t, none)
	got, err := p.Copy([]Range{{Addr: addressOf(&answer), Len: 8}})
	require.NoError(t, err, "a refused copy spoils nothing")
	assert.Equal(t, byte(42), got[0][0])
}

// write(2) moves at most 0x7ffff000 bytes at a time.
func TestCopyOfMoreThanOneWrite(t *testing.T) {
	if os.Getenv("LEAKGATE_LARGE") == "" {
		t.Skip("needs 2.2 GB of memory; set LEAKGATE_LARGE=1")
	}
	nothingLeft(t)
	const size = 0x7ffff000 + 3<<20
	m, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	require.NoError(t, err)
	defer syscall.Munmap(m)
	m[0], m[0x7ffff000-1], m[0x7ffff000], m[size-1] = 1, 2, 3, 4
	p := takeForTest(t)
	got, err := p.Copy([]Range{{Addr: address(m), Len: size}})
	require.NoError(t, err)
	require.Len(t, got[0], size)
	assert.Equal(t, []byte{1, 2, 3, 4}, []byte{got[0][0], got[0][0x7ffff000-1], got[0][0x7ffff000], got[0][size-1]})
}

func TestFileSizeLimit(t *testing.T) {
	var before syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	p := takeForTest(t)
	lowered := syscall.Rlimit{Cur: 1 << 16, Max: before.Max}
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &lowered))
	_, err := p.Copy([]Range{{Addr: 1 << 20, Len: 1 << 20}})
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before))
	require.ErrorIs(t, err, syscall.EFBIG)
	assert.ErrorContains(t, err, "ulimit -f")
}
