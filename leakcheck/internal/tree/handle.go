package tree

// HandleTypes are the types of the standard library's objects that stand for one descriptor each,
// or for a child process (go1.26 and go1.27 os/file_unix.go, os/root_openat.go, os/exec.go,
// net/fd_unix.go).
var HandleTypes = []string{"os.file", "net.netFD", "os.root", "os.processHandle", "os.Process"}
