package shop

// A Conn belongs to a pool.
type Conn struct {
	Buf  []byte
	Pool *Pool
	Srv  *Server
}

// A Pool has connections that are free, and those that are lent.
type Pool struct {
	Free []*Conn
	Busy map[*Conn]struct{}
	Srv  *Server
}

// Get lends a connection.
func (p *Pool) Get() *Conn {
	c := &Conn{Buf: make([]byte, 512), Pool: p, Srv: p.Srv}
	if n := len(p.Free); n > 0 {
		c, p.Free = p.Free[n-1], p.Free[:n-1]
	}
	p.Busy[c] = struct{}{}
	return c
}

// Put takes a connection back.
func (p *Pool) Put(c *Conn) {
	delete(p.Busy, c)
	p.Free = append(p.Free, c)
}

var Conns *Pool

func resetPools() { Conns = &Pool{Busy: map[*Conn]struct{}{}} }
