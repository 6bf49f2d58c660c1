package ledger

import (
	"flag"
	"path/filepath"
	"strings"
)

// inherited has the descriptors that the process was started with, and what they were open on.
// Later they cannot be told from descriptors that the program opened without O_CLOEXEC.
var inherited = func() map[int]string {
	found := make(map[int]string)
	_ = eachDescriptor(func(fd int) error {
		found[fd], _ = self.readlink(fd)
		return nil
	})
	return found
}()

// isInherited reports whether a descriptor is not the program's: it was there at the start, or
// package testing opened it because a flag says so. Of another process only the first three are
// known to have been there.
func (p *process) isInherited(fd int, target string) bool {
	if p.pid != 0 {
		return fd <= 2
	}
	if was, ok := inherited[fd]; fd <= 2 || ok && was == target {
		return true
	}
	for _, name := range [...]string{"testlogfile", "cpuprofile", "trace", "coverprofile"} {
		f := flag.Lookup("test." + name)
		if f == nil || f.Value.String() == "" {
			continue
		}
		if file := f.Value.String(); target == file || strings.HasSuffix(target, "/"+filepath.Base(file)) {
			return true
		}
	}
	return false
}
