package image

// A Chain watches a walk along a linked list, which in a damaged image may form a circle. It
// detects the circle after at most three times as many steps as the list has elements (Brent's
// algorithm), in constant memory.
type Chain struct {
	at     uint64
	steps  int
	period int
}

// Returns reports whether the walk has come back to an earlier element. The walk calls it once for
// each element.
func (c *Chain) Returns(addr uint64) bool {
	if addr == c.at && c.period > 0 {
		return true
	}
	if c.steps == c.period {
		c.at, c.steps, c.period = addr, 0, 2*c.period+1
	}
	c.steps++
	return false
}
