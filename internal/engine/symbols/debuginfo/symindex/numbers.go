package symindex

import "encoding/binary"

// numbers reads packed numbers, and remembers if it ran past their end.
type numbers struct {
	b   []byte
	bad bool
}

// uleb reads a uvarint.
func (c *numbers) uleb() uint64 {
	v, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.bad = true
		c.b = nil
		return 0
	}
	c.b = c.b[n:]
	return v
}

// count reads a number of elements. Each takes at least three bytes, which bounds what damaged data
// can ask for.
func (c *numbers) count() int {
	n := c.uleb()
	if n > uint64(len(c.b))/3 {
		c.bad = true
		c.b = nil
		return 0
	}
	return int(n)
}

func (c *numbers) uint32() uint32 {
	v := c.uleb()
	if v > 1<<32-1 {
		c.bad = true
		return 0
	}
	return uint32(v)
}

func (c *numbers) zigzag() int64 { return unzigzag(c.uleb()) }
