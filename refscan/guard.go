package refscan

import "runtime/debug"

// guard makes what goes wrong in the rest of a function the function's error: a panic, and a read of memory that is gone, such as
// that of a cached index whose file somebody cut short, which would end the process otherwise. Use:
//
//	defer guard(&err)()
func guard(err *error) func() {
	before := debug.SetPanicOnFault(true) // of this goroutine
	return func() {
		debug.SetPanicOnFault(before)
		if e := recover(); e != nil {
			*err = internalError(e)
		}
	}
}

// opened returns an error if the snapshot was closed, or never taken.
func (s *Snapshot) opened() error {
	if s.model == nil {
		return &UnavailableError{Cause: "the snapshot is closed"}
	}
	return nil
}
