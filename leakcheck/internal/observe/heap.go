package observe

import (
	"runtime/pprof"
	"strings"
)

// HeapProfile returns the heap profile as of the last collection that runtime.GC completed: it
// publishes what was allocated before its mark phase ended and what its sweep found dead (go1.26
// runtime/mprof.go, mProf_PostSweep). A collection that the runtime starts by itself publishes only
// what the one before it saw.
func HeapProfile() string {
	var b strings.Builder
	if err := pprof.Lookup("heap").WriteTo(&b, 0); err != nil {
		return "" // a strings.Builder takes all
	}
	return b.String()
}
