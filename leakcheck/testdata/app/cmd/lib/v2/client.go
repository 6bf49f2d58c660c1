package lib

// A Client keeps what it has asked for.
type Client struct {
	closed  bool
	pending map[int]*request
}

type request struct{ id int }

// NewClient makes a client.
func NewClient() *Client { return &Client{pending: make(map[int]*request)} }

// Ask asks.
func (c *Client) Ask() { c.pending[len(c.pending)] = &request{len(c.pending)} }

// Close ends the use of a client.
func (c *Client) Close() { c.closed = true }
