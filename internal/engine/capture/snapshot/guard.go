package snapshot

import "runtime/debug"

// Guard turns a failure in the rest of a function into the function's error: a panic, or a read of
// memory that is gone, which would end the process otherwise. It drops data that the panic may have
// left half-made: the next capture opens the debug information anew. If memory was refused (package
// offheap), the error says that, and is no internal error. Use:
//
//	defer Guard(&err)()
//	defer Guard(&err)()
func Guard(err *error) func() {
	before := debug.SetPanicOnFault(true) // affects this goroutine only
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
