package assertion

import "github.com/leakgate/leakgate/refscan"

// ErrInBubble is the reason why the verdict of some assertions is unknown in a bubble of
// testing/synctest. The runtime's execution tracer cannot be started there: it makes its channels
// in the bubble, and a timer outside sends on them, which is a fatal error (go1.26 and go1.27
// runtime/tracecpu.go, newWakeableSleep). A goroutine that collects garbage while op runs keeps the
// bubble's clock from going on.
var ErrInBubble = &refscan.UnavailableError{
	Cause:  "in a bubble of testing/synctest op cannot be traced, nor garbage be collected beside it",
	Remedy: "call it outside of the bubble, with synctest.Test in op",
}
