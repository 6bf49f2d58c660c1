//go:build linux && (amd64 || arm64)

package freeze

import (
	"bytes"
	"os"
	"strings"

	"github.com/leakgate/leakgate/internal/procfs"
)

// NotForked returns the madvise advice by which the program keeps some of the ranges from forked
// processes: MADV_DONTFORK, which leaves them out, or MADV_WIPEONFORK, which makes them zeros. It
// returns "" if there is no such advice, or the system does not tell.
func NotForked(ranges []Range) (advice string) {
	list, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return ""
	}
	var mapping Range
	for line := range bytes.Lines(list) {
		// "7f0e4a000000-7f0e4a021000 rw-p 00000000 00:00 0", then lines such as "VmFlags: rd wr mr
		// mw me dc" (proc(5)).
		if a, ok := procfs.Parse(bytes.TrimSpace(line)); ok {
			mapping = Range{Addr: a.Start, Len: a.End - a.Start}
			continue
		}
		flags, ok := strings.CutPrefix(string(line), "VmFlags:")
		if !ok {
			continue
		}
		for _, flag := range strings.Fields(flags) {
			advice := map[string]string{"dc": "MADV_DONTFORK", "wf": "MADV_WIPEONFORK"}[flag]
			if advice != "" && mapping.Overlaps(ranges) {
				return advice
			}
		}
	}
	return ""
}
