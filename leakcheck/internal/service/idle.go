package service

import (
	"context"
	"time"

	"github.com/leakgate/leakgate/internal/realtime"
)

const (
	// A process is idle if nothing runs in it at looks in a row, so far apart: what the test has
	// sent last may not have arrived at the first.
	idleLooks = 3
	lookEvery = time.Millisecond
	// maxUnchanged is for how long as many goroutines or more run until they count as ones that run
	// without an end.
	maxUnchanged = time.Second
	maxLookEvery = 20 * time.Millisecond
)

// AwaitIdle waits until no goroutine of the process runs, or is about to, so that what it was asked
// to do is done, unless it waits for a timer or for input. It gives up when over returns true, or
// when as many goroutines as before have run for a second; then it waits for these no more. It
// reports whether none runs. The process is not stopped.
func (p *Process) AwaitIdle(over func() bool) bool {
	if p.Open(context.Background()) != nil {
		return true // the next snapshot has the error
	}
	idle, wait := 0, lookEvery
	least, since := int(^uint(0)>>1), realtime.Clock()
	for {
		n, err := p.running.Active()
		switch {
		case err != nil:
			return true
		case n <= p.restless:
			if idle++; idle == idleLooks {
				p.restless = n
				return n == 0
			}
			wait = lookEvery
		case over():
			return false
		default:
			idle = 0
			if n < least {
				least, since = n, realtime.Clock()
			} else if realtime.Clock()-since > maxUnchanged {
				p.restless = least
				return false
			}
			wait = min(wait+wait/2, maxLookEvery)
		}
		realtime.Sleep(wait)
	}
}
