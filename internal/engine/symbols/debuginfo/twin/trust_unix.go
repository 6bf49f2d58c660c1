//go:build unix

package twin

import (
	"io/fs"
	"syscall"
)

// noWait keeps the opening of a named pipe from waiting for a writer.
const noWait = syscall.O_NONBLOCK

// asTrusted reports whether only users who can have written trusted can have written file.
func asTrusted(file, trusted fs.FileInfo) bool {
	const groupAndOthers = 0o022
	a, okA := file.Sys().(*syscall.Stat_t)
	b, okB := trusted.Sys().(*syscall.Stat_t)
	return okA && okB && a.Uid == b.Uid && a.Gid == b.Gid && file.Mode()&groupAndOthers&^trusted.Mode() == 0
}
