package refscan_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// desk holds things whose use may be over: that of the first of each is, that of the second is not.
type desk struct {
	ctx      [2]context.Context
	deadline [2]context.Context
	file     [2]*os.File
	conn     [2]*net.TCPConn
	queue    [2]chan *int
	signal   [2]chan struct{}
	timer    [2]*time.Timer
	ticker   [2]*time.Ticker
	body     [2]*http.Response
}

var theDesk *desk

// Objects whose use is over are marked so, in a report and on a path.
func TestEnded(t *testing.T) {
	emptyCorpus()
	d := new(desk)
	theDesk = d
	defer func() { theDesk = nil }()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 1<<20)) }))
	defer srv.Close()
	defer srv.CloseClientConnections()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	var cancels [4]func()
	for i := range 2 {
		d.ctx[i], cancels[i] = context.WithCancel(t.Context())
		d.deadline[i], cancels[2+i] = context.WithTimeout(t.Context(), time.Hour)
		d.file[i], err = os.Open("ended_test.go")
		require.NoError(t, err)
		c, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		d.conn[i] = c.(*net.TCPConn)
		d.queue[i], d.signal[i] = make(chan *int, 1), make(chan struct{})
		d.timer[i], d.ticker[i] = time.NewTimer(time.Hour), time.NewTicker(time.Hour)
		d.body[i], err = http.Get(srv.URL)
		require.NoError(t, err)
	}
	cancels[0]()
	cancels[2]()
	defer cancels[1]()
	defer cancels[3]()
	require.NoError(t, d.file[0].Close())
	require.NoError(t, d.conn[0].Close())
	close(d.queue[0])
	close(d.signal[0])
	d.timer[0].Stop()
	d.ticker[0].Stop()
	d.body[0].Body.Close()
	defer func() {
		d.file[1].Close()
		d.conn[1].Close()
		d.timer[1].Stop()
		d.ticker[1].Stop()
		d.body[1].Body.Close()
	}()

	s, err := refscan.Capture()
	require.NoError(t, err)
	defer s.Close()
	r, err := s.Scan()
	require.NoError(t, err)
	states := map[string]string{}
	var walk func(path string, n *refscan.Node)
	walk = func(path string, n *refscan.Node) {
		path = symbol.JoinPath(path, n.Name)
		if n.EndedState != "" {
			assert.Equal(t, n.Objects, n.Ended, path)
			states[path] = n.EndedState
		}
		for _, c := range n.Children {
			walk(path, c)
		}
	}
	for _, n := range r.Roots {
		if n.Name == pkg+"theDesk" {
			n.Name = "desk"
			walk("", n)
		}
	}
	for path, want := range map[string]string{
		"desk.ctx[0]":          "done",
		"desk.deadline[0]":     "done",
		"desk.file[0].file":    "closed",
		"desk.conn[0].conn.fd": "closed",
		"desk.queue[0]":        "closed",
		"desk.timer[0]":        "stopped or expired",
		"desk.ticker[0]":       "stopped",
		"desk.body[0].Body":    "closed",
		"desk.ctx[1]":          "",
		"desk.deadline[1]":     "",
		"desk.file[1].file":    "",
		"desk.conn[1].conn.fd": "",
		"desk.queue[1]":        "",
		"desk.timer[1]":        "",
		"desk.ticker[1]":       "",
		"desk.body[1].Body":    "",
		"desk.signal[1]":       "",
	} {
		assert.Equal(t, want, states[path], path)
	}

	// A channel of elements without pointers is not in the image; a path fetches it.
	for i, want := range []string{"closed", ""} {
		c := d.signal[i]
		rt, err := s.Paths(*(*uintptr)(unsafe.Pointer(&c)), refscan.PathQuery{})
		require.NoError(t, err)
		steps := rt.Paths[0].Steps
		assert.Equal(t, want, steps[len(steps)-1].State)
	}
	rt, err := s.Paths(addressOf(d.file[0]), refscan.PathQuery{})
	require.NoError(t, err)
	require.NotEmpty(t, rt.Paths)
}
