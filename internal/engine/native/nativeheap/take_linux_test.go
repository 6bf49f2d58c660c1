//go:build amd64 || arm64

package nativeheap

import (
	"os"
	"slices"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// Mappings are writable only if they are private, and may be read.
func TestAreasOf(t *testing.T) {
	const maps = "00400000-00452000 r-xp 00000000 08:02 173521                             /usr/bin/app\n" +
		"00651000-00652000 rw-p 00051000 08:02 173521                             /usr/bin/app\n" +
		"7f0000000000-7f0000021000 rw-s 00000000 00:05 12                         /dev/zero (deleted)\n" +
		"7ffd0a000000-7ffd0a021000 rw-p 00000000 00:00 0\n" +
		"7ffd0b000000-7ffd0b021000 -w-p 00000000 00:00 0\n"
	assert.Equal(t, []Area{
		{0x400000, 0x452000, false, "/usr/bin/app"},
		{0x651000, 0x652000, true, "/usr/bin/app"},
		{0x7f0000000000, 0x7f0000021000, false, "/dev/zero (deleted)"},
		{0x7ffd0a000000, 0x7ffd0a021000, true, ""},
		{0x7ffd0b000000, 0x7ffd0b021000, false, ""},
	}, areasOf([]byte(maps)))
	assert.Empty(t, areasOf(nil))
}

// This program has a C library only where the race detector or the like brings one. Without it
// there is no heap but Go's.
func TestTakeWithoutLibrary(t *testing.T) {
	areas, live, err := process()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, live, 1)
	program, err := os.Executable()
	require.NoError(t, err)
	assert.True(t, slices.ContainsFunc(areas, func(a Area) bool { return a.Name == program }))
	none := !slices.ContainsFunc(areas, func(a Area) bool { return isLibrary(a.Name) || a.Name == "[heap]" })
	mem := image.NewSpace(newSynthetic())
	for name, take := range map[string]func() error{
		"Take":       func() error { _, err := Take(); return err },
		"TakeBlocks": func() error { _, err := TakeBlocks(); return err },
		"OfFrozen":   func() error { _, err := OfFrozen(os.Getpid(), mem); return err },
		"OfAnother":  func() error { _, err := OfAnother(os.Getpid(), program, mem); return err },
	} {
		if err := take(); none {
			assert.Equal(t, ErrNone, err, name)
		} else {
			assert.False(t, err == ErrNone, name)
		}
	}
	_, err = OfFrozen(-1, mem)
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = OfAnother(-1, program, mem)
	assert.ErrorIs(t, err, os.ErrNotExist)
}
