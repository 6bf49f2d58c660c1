//go:build unix

package indexcache

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// privateFlags keep the opening of a named pipe from waiting for a writer, and a symbolic link from
// being followed.
const privateFlags = syscall.O_NONBLOCK | syscall.O_NOFOLLOW

// writableByOthers says who but this user and the superuser may write to a file or folder, or owns
// it; "" for nobody. In a folder with the sticky bit others can make files, but not replace any.
func writableByOthers(info fs.FileInfo) string {
	const groupAndOthers = 0o022
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Sprintf("it belongs to user %d", st.Uid)
	}
	if mode := info.Mode(); mode&groupAndOthers != 0 && !(mode.IsDir() && mode&fs.ModeSticky != 0) {
		return fmt.Sprintf("other users may write to it (mode %04o)", mode.Perm())
	}
	return ""
}
