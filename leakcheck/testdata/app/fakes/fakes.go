// Package fakes has clients and servers that leak connections to what its tests run at the other
// end, and others that do not.
package fakes

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
)

// A Tunnel forwards each connection to a server. It waits for both directions to end.
type Tunnel struct {
	ln     net.Listener
	target string
	closes bool
}

func NewTunnel(target string, closes bool) *Tunnel {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	t := &Tunnel{ln, target, closes}
	go t.serve()
	return t
}

func (t *Tunnel) Addr() string { return t.ln.Addr().String() }
func (t *Tunnel) Close() error { return t.ln.Close() }

func (t *Tunnel) serve() {
	for {
		c, err := t.ln.Accept()
		if err != nil {
			return
		}
		go t.forward(c)
	}
}

func (t *Tunnel) forward(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", t.target)
	if err != nil {
		return
	}
	defer server.Close()
	done := make(chan bool, 2)
	copied := func(dst, src net.Conn) {
		io.Copy(dst, src)
		done <- true
	}
	go copied(server, client)
	go copied(client, server)
	<-done
	if t.closes {
		client.Close()
		server.Close()
	}
	<-done
}

// Get does not close the body of a refusal, unless it is asked to.
func Get(url string, closes bool) error {
	resp, err := http.Get(url)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		if closes {
			resp.Body.Close()
		}
		return fmt.Errorf("refused: %s", resp.Status)
	}
	return resp.Body.Close()
}

// A Client keeps its connections.
type Client struct {
	mu    sync.Mutex
	conns map[int]net.Conn
}

func (c *Client) Dial(addr string) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		panic(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns[len(c.conns)] = conn
}

// A Journal keeps a file for each connection that is watched, and the goroutine the connection.
type Journal struct{ files []*os.File }

func (j *Journal) Watch(addr string) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		panic(err)
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		panic(err)
	}
	j.files = append(j.files, f)
	go watch(conn)
}

func watch(conn net.Conn) {
	defer conn.Close()
	conn.Read(make([]byte, 1))
}

// Each runs a callback in a goroutine of its own.
func Each(addr string, handle func(net.Conn)) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		panic(err)
	}
	go handle(conn)
}

// Ping opens a connection, and closes it.
func Ping(addr string) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		panic(err)
	}
	conn.Close()
}
