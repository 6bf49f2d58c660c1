package snapshot

import (
	"os"
	"strconv"
	"strings"
)

// CheckSettings returns an error if the program runs with a GODEBUG setting under which the heap
// cannot be read. With sbrk=1 nothing is ever freed, and the first garbage collection ends the
// process (go1.26 and go1.27 runtime/malloc.go, mallocgc; lfstack.go, lfstackPack: memory for
// objects that the collector needs is not aligned then). With efence=1 memory that was freed may
// not be read (runtime/mgcsweep.go, sweepLocked.sweep). The runtime reads both settings once, when
// the program starts.
func CheckSettings() error {
	for _, setting := range [...]string{"sbrk", "efence"} {
		if debugSetting(os.Getenv("GODEBUG"), setting) {
			return &Unavailable{
				Cause:  "the program runs with GODEBUG=" + setting + "=1, which replaces the allocator",
				Remedy: "run this test without that setting",
			}
		}
	}
	return nil
}

// debugSetting reports whether a numeric setting is not 0; if it is given several times, the last
// value counts (go1.26 and go1.27 runtime/runtime1.go, parsegodebug).
func debugSetting(settings, name string) (on bool) {
	for settings != "" {
		var one string
		one, settings, _ = strings.Cut(settings, ",")
		if value, ok := strings.CutPrefix(one, name+"="); ok {
			if n, err := strconv.ParseInt(value, 10, 32); err == nil {
				on = n != 0
			}
		}
	}
	return on
}
