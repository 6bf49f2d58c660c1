package remedy

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
)

func TestForDisk(t *testing.T) {
	for _, c := range []struct {
		err    error
		output string
		want   string
	}{
		{&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, "", "free space on the disk"},
		{syscall.EDQUOT, "", "quota"},
		{&os.SyscallError{Syscall: "write", Err: syscall.EFBIG}, "", "ulimit -f"},
		{errors.New("exit status 1"), "link: mapping output file failed: no space left on device\n", "free space on the disk"},
		{errors.New("exit status 1"), "open x: disk quota exceeded", "quota"},
		{errors.New("exit status 1"), "link: signal: file size limit exceeded (core dumped)", "ulimit -f"},
		{errors.New("exit status 1"), "x.go:1: syntax error", ""},
		{nil, "", ""},
	} {
		got := ForDisk(c.err, c.output)
		if c.want == "" {
			assert.Empty(t, got)
		} else {
			assert.Contains(t, got, c.want)
		}
	}
}
