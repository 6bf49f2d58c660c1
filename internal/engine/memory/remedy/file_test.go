package remedy

import (
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
)

func TestForFile(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{
		syscall.EMFILE: files,
		syscall.ENFILE: systemFiles,
		syscall.ENOMEM: memory,
		syscall.EPERM:  filtered,
		syscall.ENOENT: "",
		syscall.EACCES: "",
	} {
		assert.Equal(t, want, ForFile(&os.PathError{Op: "open", Path: "x", Err: errno}), errno.Error())
	}
	assert.Empty(t, ForFile(fs.ErrNotExist))
	assert.Empty(t, ForFile(nil))
}
