package remedy

// Unavailable says why something cannot be had, and what the user can do about it.
type Unavailable struct {
	Cause  string // one sentence without a full stop
	Remedy string // one sentence without a full stop; "" if there is nothing to do
	Err    error  // what went wrong underneath, if anything
}

// Error implements error: cause, underlying error and remedy in one line, though the output of a
// failed build may have several.
func (e *Unavailable) Error() string {
	s := "refscan: " + e.Cause
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Remedy != "" {
		s += " (" + e.Remedy + ")"
	}
	return s
}

// Unwrap returns the underlying error.
func (e *Unavailable) Unwrap() error { return e.Err }
