package snapshot

import "runtime/debug"

// Guard makes what goes wrong in the rest of a function the function's error: a panic, and a read
// of memory that is gone, which would end the process otherwise. What a panic may have interrupted
// is not kept: the next capture opens the debug information anew. Memory that is refused (package
// offheap) is no fault of this package. Use:
//
//	defer Guard(&err)()
func Guard(err *error) func() {
	before := debug.SetPanicOnFault(true) // of this goroutine
	return func() {
		debug.SetPanicOnFault(before)
		e := recover()
		if e == nil {
			return
		}
		if failure, ok := e.(error); ok {
			if *err = memoryError(failure); *err != nil {
				return
			}
		}
		forgetIndex()
		*err = internalError(e)
	}
}
