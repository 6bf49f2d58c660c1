//go:build race && linux && go1.26

package leakcheck_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck"
)

// Memory mapped without a file may be the race detector's, so it is no leak; the log says so.
func TestMappedWithRace(t *testing.T) {
	ft := &recordingT{name: t.Name()}
	if !leakcheck.AssertNoGrowth(ft, func() {
		_, _, errno := syscall.RawSyscall6(syscall.SYS_MMAP, 0, 1<<16, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE, ^uintptr(0), 0)
		assert.Zero(t, errno)
	}, leakcheck.Iterations(20), leakcheck.Full()) {
		t.Errorf("failed: %s", strings.Join(ft.errors, "\n"))
	}
	assert.Contains(t, strings.Join(ft.logs, "\n"), "could not tell, and did not judge: +64.0 KiB/op: anonymous memory, which is mapped by op or by the sanitizer")
}
