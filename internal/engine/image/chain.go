package image

// A Chain watches a walk along a linked list, which in a damaged image may lead in a circle. It
// finds that out after at most three times the steps that the list has (Brent's algorithm), and
// keeps nothing of it.
type Chain struct {
	at     uint64
	steps  int
	period int
}

// Returns reports whether the walk has come back to where it was. It is asked once for each
// element.
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
