package fakes

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/leakcheck"
)

// listen runs a server whose connections are handled in goroutines of their own.
func listen(t *testing.T, handle func(net.Conn)) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go handle(c)
		}
	}()
	return ln.Addr().String()
}

// silent reads, and never says anything.
func silent(c net.Conn) {
	io.Copy(io.Discard, c)
	c.Close()
}

// forgetful never closes a connection.
func forgetful(c net.Conn) {
	io.Copy(io.Discard, c)
	select {}
}

func refuse(t *testing.T) string {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, strings.Repeat("no such service\n", 20))
	}))
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv.URL
}

func check(t *testing.T, op func()) { leakcheck.AssertNoGrowth(t, op, leakcheck.Iterations(8)) }

func tunnel(t *testing.T, closes bool) {
	tun := NewTunnel(listen(t, silent), closes)
	defer tun.Close()
	check(t, func() {
		c, err := net.Dial("tcp", tun.Addr())
		if err != nil {
			t.Fatal(err)
		}
		c.Write([]byte("hello\n"))
		time.Sleep(2 * time.Millisecond)
		c.Close()
		time.Sleep(2 * time.Millisecond)
	})
}

func TestTunnel(t *testing.T)       { tunnel(t, false) }
func TestTunnelCloses(t *testing.T) { tunnel(t, true) }

func get(t *testing.T, closes bool) {
	url := refuse(t)
	check(t, func() { Get(url, closes) })
}

func TestGet(t *testing.T)       { get(t, false) }
func TestGetCloses(t *testing.T) { get(t, true) }

func TestClient(t *testing.T) {
	addr, c := listen(t, silent), &Client{conns: make(map[int]net.Conn)}
	check(t, func() { c.Dial(addr) })
}

func TestJournal(t *testing.T) {
	addr, j := listen(t, silent), &Journal{}
	check(t, func() { j.Watch(addr) })
}

// The goroutine is the program's, what it runs the test's.
func TestCallback(t *testing.T) {
	addr := listen(t, silent)
	check(t, func() { Each(addr, forgetful) })
}

// The test's server alone leaks.
func TestForgetful(t *testing.T) {
	addr := listen(t, forgetful)
	check(t, func() { Ping(addr) })
}

func TestPing(t *testing.T) {
	addr := listen(t, silent)
	check(t, func() { Ping(addr); time.Sleep(time.Millisecond) })
}
