//go:build unix

package symindex

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// privateFlags make open(2) not wait for a writer of a named pipe, and not follow a symbolic link.
const privateFlags = syscall.O_NONBLOCK | syscall.O_NOFOLLOW

// writableByOthers describes which user, other than this one and the superuser, owns a file or
// cacheFolder or may write to it; "" if none. A folder with the sticky bit is accepted: others can
// make files in it, but not replace any.
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
