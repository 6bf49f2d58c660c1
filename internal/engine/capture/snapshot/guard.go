package snapshot

import (
	"errors"
	"runtime/debug"

	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

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
			if up := (*goruntime.TimeUp)(nil); errors.As(failure, &up) {
				*err = &Unavailable{Cause: "the time was up before the scan had ended", Err: up.Err}
				return
			}
		}
		forgetIndex()
		*err = internalError(e)
	}
}
