package calls

import (
	"math/bits"
	"time"
)

// A Cost is what the calls so far have taken.
type Cost struct {
	Calls   int64
	Slowest time.Duration // of a call
	Spent   time.Duration // in all calls, and in waits for what they have left to other goroutines
	Last    time.Duration // of a call in the last batch, on average
	took    [64]int64     // calls, by the length in bits of the nanoseconds that they took
}

// Add adds a call that took so long.
func (c *Cost) Add(took time.Duration) {
	c.Slowest, c.Spent = max(c.Slowest, took), c.Spent+took
	c.took[bits.Len64(uint64(max(took, 0)))]++
	c.Calls++
}

// Usual is how long a call takes on average, without the slowest one, which the system may have
// delayed, or which did what only a first call does.
func (c *Cost) Usual() time.Duration {
	if c.Calls < 2 {
		return c.Slowest
	}
	return (c.Spent - c.Slowest) / time.Duration(c.Calls-1)
}

// Median is how long half of the calls took at most, up to twice as much. A busy machine, which
// delays some calls by a thousand times, does not change it as it does Usual.
func (c *Cost) Median() time.Duration {
	calls := int64(0)
	for length, n := range c.took {
		if calls += n; 2*calls >= c.Calls {
			return 1<<length - 1
		}
	}
	return 0
}
