//go:build linux && (amd64 || arm64)

package freeze

import "runtime"

// OnOneProcessor calls f while the calling goroutine has the right to run Go code to itself, and
// reports whether GOMAXPROCS stayed as it has to for that. It waits for the end of a collection that
// is under way, and stops the world twice, for some ten microseconds.
//
// f is not told if the caller is preempted in it: where that matters, f has to find out by itself.
func OnOneProcessor(f func()) (alone bool) {
	taking.Lock()
	defer taking.Unlock()
	restore := useOneProcessor()
	defer restore()
	f()
	return runtime.GOMAXPROCS(0) == 1
}
