package golden

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestReadPipe reads a named pipe, which nobody writes to: that is an error at once.
func TestReadPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe.golden")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
	if err := Write(path, &File{}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
}

// TestReadGrowing reads a file that has more bytes than its size says, as a growing file has.
func TestReadGrowing(t *testing.T) {
	if _, err := Read("/proc/self/status"); err == nil || !strings.Contains(err.Error(), "it grew while it was read") {
		t.Error(err)
	}
}
