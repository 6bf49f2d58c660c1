package debughttp_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/debughttp"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// Only a page of the same origin, a person, or a client that is no browser is answered.
func TestCrossSite(t *testing.T) {
	for _, c := range []struct{ header, value, why string }{
		{"User-Agent", "curl/8", ""},
		{"Sec-Fetch-Site", "none", ""},
		{"Sec-Fetch-Site", "same-origin", ""},
		{"Sec-Fetch-Site", "cross-site", "(Sec-Fetch-Site: cross-site); enter the address"},
		{"Sec-Fetch-Site", "same-site", "(Sec-Fetch-Site: same-site)"}, // another port of this machine
		{"Sec-Fetch-Site", "new-word", "(Sec-Fetch-Site: new-word)"},
		{"Origin", "http://localhost:6060", ""},
		{"Origin", "https://LOCALHOST:6060", ""},
		{"Origin", "http://localhost:3000", `(Origin: "http://localhost:3000")`},
		{"Origin", "http://example.com", `(Origin: "http://example.com")`},
		{"Origin", "null", `(Origin: "null")`}, // a sandboxed frame, a file
		{"Origin", "http://[", `(Origin: "http://[")`},
		{"Referer", "http://localhost:6060/debug/pprof/", ""},
		{"Referer", "http://example.com/page.html", `(Referer: "http://example.com/page.html")`},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost:6060/debug/retained", nil)
		r.Header.Set(c.header, c.value)
		why := debughttp.CrossSite(r)
		assert.Contains(t, why, c.why, c)
		assert.Equal(t, c.why == "", why == "", c, why)
	}
}

func TestForeignHost(t *testing.T) {
	for host, foreign := range map[string]bool{
		"localhost": false, "LocalHost:80": false, "127.0.0.1:6060": false, "127.0.0.2": false, "[::1]:6060": false, "[::1]": false,
		"example.com": true, "example.com:6060": true, "192.0.2.1": true, "localhost.example.com": true, "": true, "0.0.0.0:6060": true,
	} {
		assert.Equal(t, foreign, debughttp.ForeignHost(&http.Request{Host: host}) != "", host)
	}
}

func TestFromHere(t *testing.T) {
	for address, here := range map[string]bool{"127.0.0.1:5": true, "[::1]:5": true, "[::ffff:127.0.0.1]:5": true, "192.0.2.1:5": false, "@": false, "": false} {
		assert.Equal(t, here, debughttp.FromHere(&http.Request{RemoteAddr: address}), address)
	}
}

// A pipe is a connection without a buffer: a write ends when the other side reads, or at a
// deadline.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

// A client that never reads is given up.
func TestPatience(t *testing.T) {
	defer func(before time.Duration) { debughttp.Patience = before }(debughttp.Patience)
	debughttp.Patience = time.Millisecond
	ended, listener := make(chan bool), make(pipes, 1)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		debughttp.Send(w, make([]byte, 1<<20))
		close(ended)
	})}
	go func() { _ = server.Serve(listener) }()
	defer func() {
		close(listener)
		require.NoError(t, server.Close())
	}()
	ours, theirs := net.Pipe()
	listener <- theirs
	_, err := ours.Write([]byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))
	require.NoError(t, err)
	<-ended // without a deadline it never does
}

// A writer without deadlines is written to.
func TestNoDeadlines(t *testing.T) {
	w := httptest.NewRecorder()
	debughttp.Send(w, []byte("all of it"))
	assert.Equal(t, "all of it", w.Body.String())
}
