//go:build regression

package workers

// The regression: an array that was on the heap has moved into the frame.
//
//go:noinline
func (p *Pool) handle() {
	var buf [64 << 10]byte
	for j := range p.jobs {
		buf[j]++
	}
	sum(&buf)
}

//go:noinline
func sum(buf *[64 << 10]byte) (s byte) {
	for _, b := range buf {
		s += b
	}
	return s
}
