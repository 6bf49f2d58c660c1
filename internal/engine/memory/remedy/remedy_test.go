package remedy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestFor(t *testing.T) {
	tests := []struct {
		call  string
		errno syscall.Errno
		want  string
	}{
		{"clone", syscall.EPERM, "seccomp"},
		{"clone", syscall.ENOSYS, "seccomp"},
		{"clone", syscall.EAGAIN, "ulimit -u"},
		{"clone", syscall.EINVAL, "imitates"},
		{"socketpair", syscall.EMFILE, "ulimit -n"},
		{"socketpair", syscall.EACCES, "seccomp"},
		{"memfd_create", syscall.EPERM, "/dev/shm"},
		{"pwrite64", syscall.ENOSPC, "--shm-size"},
		{"pwrite64", syscall.EFBIG, "ulimit -f"},
		{"ftruncate", syscall.EPERM, "seccomp"},
		{"fdatasync", syscall.EIO, "TMPDIR"},
		{"mmap", syscall.ENOMEM, "ulimit -v"},
		{"madvise", syscall.EINVAL, "MADV_DONTFORK"},
		{"madvise", syscall.ENOMEM, "memory limit"},
	}
	for _, tt := range tests {
		assert.Contains(t, For(tt.call, tt.errno), tt.want, "%s: %v", tt.call, tt.errno)
	}
	assert.Equal(t, filtered, For("sendmsg", errors.New("not a number")))
}

func TestOf(t *testing.T) {
	err := fmt.Errorf("preparing: %w", &Error{Call: "ftruncate", For: "growing the image file", Err: syscall.EFBIG})
	assert.Equal(t, fileSize, Of(err))
	assert.EqualError(t, err, "preparing: ftruncate (growing the image file): file too large")
	assert.ErrorIs(t, err, syscall.EFBIG)
	assert.Empty(t, Of(errors.New("something else")))
}

// TestForkMemory: a remedy does not advise the setting that is in force.
func TestForkMemory(t *testing.T) {
	setting := filepath.Join(t.TempDir(), "overcommit_memory")
	for value, want := range map[string]string{
		"0\n": "is 0 already",
		"1\n": "page tables",
		"2\n": "set it to 0 or 1",
	} {
		require.NoError(t, os.WriteFile(setting, []byte(value), 0o600))
		assert.Contains(t, forkMemory(setting), want)
	}
	assert.Contains(t, forkMemory(filepath.Join(t.TempDir(), "none")), "if it is 2")
}
