// Package calls calls an operation: in batches, within the time of the test and below the limits of
// the system. It waits for what the calls have left to goroutines and timers. It knows no
// snapshots.
package calls

import "time"

// An Op is an operation that an assertion calls.
type Op struct {
	run    func()
	failed func() bool
	now    func() time.Time
}

// NewOp returns an operation. failed reports whether it has failed the test by now.
func NewOp(op func(), failed func() bool, now func() time.Time) *Op { return &Op{op, failed, now} }

// Failed reports whether the operation has failed the test.
func (o *Op) Failed() bool { return o.failed() }

// Once calls the operation, and returns how long that took.
func (o *Op) Once() time.Duration {
	start := o.now()
	o.run()
	return o.now().Sub(start)
}

// Times calls the operation n times, and does nothing else meanwhile.
func (o *Op) Times(n int) {
	for range n {
		o.run()
	}
}

// Repeat calls the operation up to n times. It ends sooner if the operation fails the test, or if
// more, unless it is nil, returns false after a call. It returns the number of calls.
func (o *Op) Repeat(n int, more func() bool) (called int) {
	for called < n && (called == 0 || (more == nil || more()) && !o.failed()) {
		o.run()
		called++
	}
	return called
}
