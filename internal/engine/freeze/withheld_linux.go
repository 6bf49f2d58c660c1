//go:build linux && (amd64 || arm64)

package freeze

import (
	"os"
	"strconv"
	"strings"
)

// Withheld returns by which advice some of the ranges are kept from forked processes:
// MADV_DONTFORK, which leaves them out, or MADV_WIPEONFORK, which makes them zeros. It returns ""
// if there is none, or the system does not tell.
func Withheld(ranges []Range) (advice string) {
	list, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return ""
	}
	var mapping Range
	for line := range strings.Lines(string(list)) {
		// "7f0e4a000000-7f0e4a021000 rw-p 00000000 00:00 0", then lines such as "VmFlags: rd wr mr
		// mw me dc" (proc(5)).
		name, rest, _ := strings.Cut(line, " ")
		if first, last, ok := strings.Cut(name, "-"); ok {
			low, err1 := strconv.ParseUint(first, 16, 64)
			high, err2 := strconv.ParseUint(last, 16, 64)
			if err1 == nil && err2 == nil {
				mapping = Range{Addr: low, Len: high - low}
			}
			continue
		}
		if name != "VmFlags:" {
			continue
		}
		for _, flag := range strings.Fields(rest) {
			advice := map[string]string{"dc": "MADV_DONTFORK", "wf": "MADV_WIPEONFORK"}[flag]
			if advice != "" && overlaps(ranges, mapping) {
				return advice
			}
		}
	}
	return ""
}

func overlaps(ranges []Range, mapping Range) bool {
	for _, r := range ranges {
		if r.Addr < mapping.End() && mapping.Addr < r.End() {
			return true
		}
	}
	return false
}
