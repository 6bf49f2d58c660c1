//go:build linux && (amd64 || arm64)

package freeze

// OnOneProcessor calls f while the calling goroutine has the right to run Go code to itself, and
// reports whether GOMAXPROCS stayed as it has to for that. It waits for the end of a collection that
// is under way, and stops the world twice, for some ten microseconds.
//
// f is not told if the caller is preempted in it: where that matters, f has to find out by itself.
func OnOneProcessor(f func()) (alone bool) {
	taking.Lock()
	defer taking.Unlock()
	_, alone = onOneProcessor(func() bool { return true }, f)
	return alone
}

// WhenReady is OnOneProcessor at a moment at which ready returns true, as TakeWhen is Take. Where
// there is none for some seconds, it returns ErrNotReady and has not called f.
func WhenReady(ready func() bool, f func()) (alone bool, err error) {
	taking.Lock()
	defer taking.Unlock()
	called, alone := whenReady(ready, f)
	if !called {
		return false, ErrNotReady
	}
	return alone, nil
}
