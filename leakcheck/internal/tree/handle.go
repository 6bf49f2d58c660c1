package tree

import (
	"os"
	"reflect"
	"slices"
	"strings"
)

// HandleTypes are the types of the standard library's objects that stand for one descriptor each,
// or for a child process (go1.26 and go1.27 os/file_unix.go, os/root_openat.go, os/exec.go,
// net/fd_unix.go).
var HandleTypes = []string{"os.file", "net.netFD", "os.root", "os.processHandle", "os.Process"}

// Descriptors returns at which offsets the objects of a type have the numbers of descriptors; nil
// if they have none, or that is not known. Those of files and sockets begin with a poll.FD, and
// pipes that splice uses with a number for each end (go1.26 and go1.27 internal/poll/fd_unix.go and
// splice_linux.go).
func Descriptors(typ string) []uintptr {
	switch typ = strings.TrimLeft(typ, "*"); {
	case slices.Contains(HandleTypes[:2], typ):
		file, _ := reflect.TypeFor[os.File]().FieldByName("file")
		if file.Type == nil {
			return nil
		}
		pfd, _ := file.Type.Elem().FieldByName("pfd")
		if pfd.Type == nil {
			return nil
		}
		number, found := pfd.Type.FieldByName("Sysfd")
		if !found {
			return nil
		}
		return []uintptr{pfd.Offset + number.Offset}
	case strings.HasPrefix(typ, "internal/poll.splicePipe"):
		return []uintptr{0, reflect.TypeFor[int]().Size()}
	}
	return nil
}
