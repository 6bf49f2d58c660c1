//go:build linux && (amd64 || arm64)

package freeze

import (
	"bytes"
	"os"
	"syscall"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

func takeOnDisk(t *testing.T, size int64) (*Process, error) {
	t.Helper()
	p, err := TakeOnDisk(size, func() bool { return true })
	if err == nil {
		t.Cleanup(func() { assert.NoError(t, p.Close()) })
	}
	return p, err
}

// diskForTest skips the test if there is no disk.
func diskForTest(t *testing.T) *Process {
	t.Helper()
	p, err := takeOnDisk(t, 1<<20)
	if err != nil {
		require.ErrorIs(t, err, ErrNoDisk)
		t.Skip("neither /var/tmp nor the folder for temporary files is on a disk")
	}
	return p
}

// An image on a disk has the same contents as one in memory, for any set of ranges and any
// unreadable memory.
func TestCopyToDisk(t *testing.T) {
	nothingLeft(t)
	base, page := holed(t)
	large, err := syscall.Mmap(-1, 0, 2*diskPiece+5*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	require.NoError(t, err)
	defer func() { assert.NoError(t, syscall.Munmap(large)) }()
	for i := range large {
		large[i] = byte(i>>12 ^ i)
	}
	p := diskForTest(t)
	require.NotZero(t, p.image.file)
	size := uint64(page)
	ranges := []Range{
		{Addr: base, Len: 2 * size},
		{Addr: base + size, Len: 3 * size},
		{Addr: address(large), Len: uint64(len(large))},
		{Addr: base + 2*size, Len: 8},
		{Addr: base + 3*size, Len: size},
		{Addr: address(large) + 3, Len: diskPiece},
		{Addr: base - 1<<30, Len: 0},
	}
	for range 2*batch + 1 {
		ranges = append(ranges, Range{Addr: addressOf(&answer), Len: 8})
	}
	got, err := p.Copy(ranges)
	require.NoError(t, err)
	assert.Equal(t, append(fill(1, page), fill(2, page)...), got[0])
	if !emulated(t) { // an emulator reads all of a range or nothing
		assert.Equal(t, fill(2, page), got[1], "up to the hole")
	}
	assert.True(t, bytes.Equal(large, got[2]))
	assert.Empty(t, got[3])
	assert.Equal(t, fill(4, page), got[4])
	assert.True(t, bytes.Equal(large[3:3+diskPiece], got[5]))
	assert.Empty(t, got[6])
	for _, g := range got[7:] {
		require.Len(t, g, 8)
		require.Equal(t, byte(42), g[0])
	}
	var word [8]byte
	require.NoError(t, p.read(addressOf(&answer), word[:]))
	assert.Equal(t, byte(42), word[0])
}

// The kernel can reclaim the pages of an image on a disk: all of them have been written to the
// disk.
func TestImageOnDiskIsWritten(t *testing.T) {
	p := diskForTest(t)
	_, err := p.Copy([]Range{{Addr: addressOf(&answer), Len: 8}})
	require.NoError(t, err)
	const dontNeed = 4
	_, _, errno := syscall.Syscall6(syscall.SYS_FADVISE64, uintptr(p.image.file), 0, 0, dontNeed, 0, 0)
	require.Zero(t, errno)
	assert.True(t, givesPagesBack(p.image.file))
}

// A folder in memory is no disk, and a disk without room does not count.
func TestNoDisk(t *testing.T) {
	defer func(old []string) { diskFolders = old }(diskFolders)
	_, err := takeOnDisk(t, 1<<62)
	require.ErrorIs(t, err, ErrNoDisk)
	var kind syscall.Statfs_t
	const tmpfs = 0x01021994
	if err := syscall.Statfs("/dev/shm", &kind); err != nil || kind.Type != tmpfs {
		t.Skip("/dev/shm is no file system in memory")
	}
	nothingLeft(t)
	diskFolders = []string{"/dev/shm", "/proc/self/none"}
	t.Setenv("TMPDIR", "/dev/shm")
	before, err := os.ReadDir("/dev/shm")
	require.NoError(t, err)
	_, err = takeOnDisk(t, 1)
	require.ErrorIs(t, err, ErrNoDisk)
	after, err := os.ReadDir("/dev/shm")
	require.NoError(t, err)
	assert.Len(t, after, len(before))
}
