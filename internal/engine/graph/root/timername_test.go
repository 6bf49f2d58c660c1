package root_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/testkit/heaptest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

const (
	timeout = "timer(context.WithTimeout)"
	channel = "timer(time.Timer)"
)

// timerCases are ways in which a program leaves timers pending, and the names of these timers.
var timerCases = []struct {
	name  string
	leave func(t *testing.T)
	want  map[string]int64 // how many timers there are at least
}{
	{"contexts", func(t *testing.T) {
		for _, with := range []func(context.Context) (context.Context, context.CancelFunc){
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, time.Hour)
			},
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeoutCause(ctx, time.Hour, errors.ErrUnsupported)
			},
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithDeadline(ctx, time.Now().Add(time.Hour))
			},
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithDeadlineCause(ctx, time.Now().Add(time.Hour), errors.ErrUnsupported)
			},
		} {
			_, cancel := with(context.Background())
			t.Cleanup(cancel)
		}
	}, map[string]int64{timeout: 4}},
	{"channels", func(t *testing.T) {
		done := make(chan struct{})
		waits := func(c <-chan time.Time) { // a channel's timer is pending while a goroutine waits
			go func() {
				select {
				case <-c:
				case <-done:
				}
			}()
		}
		t.Cleanup(func() { close(done) })
		waits(time.NewTimer(time.Hour).C)
		waits(time.After(time.Hour))
		waits(time.NewTicker(time.Hour).C)
		waits(time.Tick(time.Hour))
	}, map[string]int64{channel: 2, "timer(time.Ticker)": 2}},
	{"HTTP/1 client", func(t *testing.T) {
		srv := httptest.NewServer(http.NotFoundHandler())
		t.Cleanup(srv.Close)
		transport := &http.Transport{IdleConnTimeout: time.Hour}
		t.Cleanup(transport.CloseIdleConnections)
		get(t, &http.Client{Transport: transport, Timeout: time.Hour}, srv.URL)
	}, map[string]int64{"timer(net/http.Transport.IdleConnTimeout)": 1}},
	{"HTTP/1 client that waits", func(t *testing.T) {
		url := blockedServer(t, nil)
		client := &http.Client{Transport: &http.Transport{ResponseHeaderTimeout: time.Hour}, Timeout: time.Hour}
		inBackground(t, client, url)
	}, map[string]int64{timeout: 1, channel: 1}},
	{"HTTP/1 client that may not go on", func(t *testing.T) {
		url := blockedServer(t, nil)
		client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Hour}}
		ctx, cancel := context.WithCancel(context.Background())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, io.LimitReader(neverEnding{}, 1<<20))
		require.NoError(t, err)
		req.Header.Set("Expect", "100-continue")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if resp, err := client.Do(req); err == nil {
				resp.Body.Close()
			}
		}()
		t.Cleanup(func() { cancel(); <-ended })
	}, map[string]int64{channel: 1}},
	{"TLS handshake", func(t *testing.T) {
		l := listen(t)
		client := &http.Client{Transport: &http.Transport{TLSHandshakeTimeout: time.Hour}}
		inBackground(t, client, "https://"+l.Addr().String())
	}, map[string]int64{"timer(net/http.Transport.TLSHandshakeTimeout)": 1}},
	{"HTTP/2", func(t *testing.T) {
		limits := &http.HTTP2Config{SendPingTimeout: time.Hour}
		blockedServer(t, func(srv *httptest.Server) {
			srv.EnableHTTP2 = true
			c := srv.Config
			c.ReadTimeout, c.WriteTimeout, c.IdleTimeout, c.HTTP2 = time.Hour, time.Hour, time.Hour, limits
			srv.StartTLS()
			transport := srv.Client().Transport.(*http.Transport)
			transport.IdleConnTimeout, transport.HTTP2 = time.Hour, limits
			get(t, srv.Client(), srv.URL+"/at-once")
			inBackground(t, srv.Client(), srv.URL)
		})
	}, map[string]int64{
		"timer(net/http.Server.ReadTimeout)": 1, "timer(net/http.Server.WriteTimeout)": 1,
		"timer(net/http.HTTP2Config.SendPingTimeout)": 2,
	}},
	{"idle HTTP/2", func(t *testing.T) {
		srv := httptest.NewUnstartedServer(http.NotFoundHandler())
		srv.EnableHTTP2 = true
		srv.Config.IdleTimeout = time.Hour
		srv.StartTLS()
		t.Cleanup(srv.Close)
		srv.Client().Transport.(*http.Transport).IdleConnTimeout = time.Hour
		get(t, srv.Client(), srv.URL)
	}, map[string]int64{"timer(net/http.Server.IdleTimeout)": 1, "timer(net/http.Transport.IdleConnTimeout)": 1}},
	{"reverse proxy", func(t *testing.T) {
		target, err := url.Parse(blockedServer(t, nil))
		require.NoError(t, err)
		proxy := httputil.NewSingleHostReverseProxy(target)
		proxy.FlushInterval = time.Hour
		srv := httptest.NewServer(proxy)
		t.Cleanup(srv.Close)
		inBackground(t, srv.Client(), srv.URL+"/begin")
	}, map[string]int64{"timer(net/http/httputil.ReverseProxy.FlushInterval)": 1}},
	{"deadlines of a pipe", func(t *testing.T) {
		a, b := net.Pipe()
		t.Cleanup(func() { require.NoError(t, errors.Join(a.Close(), b.Close())) })
		require.NoError(t, a.SetReadDeadline(time.Now().Add(time.Hour)))
		require.NoError(t, b.SetDeadline(time.Now().Add(time.Hour)))
	}, map[string]int64{"timer(net.(*pipe).SetDeadline)": 3}},
}

// Each timer of the standard library is pending under the name of the function that a program has
// called or set, with the time when it is due.
func TestNamesOfPendingTimers(t *testing.T) {
	known := make(map[string]bool)
	for _, tt := range timerCases {
		for name := range tt.want {
			known[name] = true
		}
	}
	for i, tt := range timerCases {
		t.Run(tt.name, func(t *testing.T) {
			if i%4 != 0 {
				require.Slow(t)
			}
			before := pendingTimers(t) // those of other tests
			tt.leave(t)
			var pending map[string]int64
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
				// other goroutines set them
				if pending = pendingTimers(t); atLeast(pending, tt.want) {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("pending: %v, want %v", pending, tt.want)
				}
			}
			for name, n := range pending {
				// Connections of other tests may still be ending.
				if !known[name] && n > before[name] {
					t.Errorf("%s is pending", name)
				}
			}
		})
	}
}

// pendingTimers counts the pending timers of the process that are due in about an hour, by name.
func pendingTimers(t *testing.T) map[string]int64 {
	t.Helper()
	p := heaptest.Capture(t)
	defer func() { require.NoError(t, p.Close()) }()
	found := make(map[string]int64)
	for _, e := range root.List(p.Heap, p.Program()) {
		if due := e.Pending.DueLast; e.Kind == root.KindTimer && !e.Class.IsTool() && due > 50*time.Minute && due <= time.Hour {
			found[e.Name] = e.Pending.Timers
		}
	}
	return found
}

func atLeast(have, want map[string]int64) bool {
	for name, n := range want {
		if have[name] < n {
			return false
		}
	}
	return true
}

// blockedServer returns the URL of a server whose handler does not return before the test ends,
// except for "/at-once". start may start it, else it is started as HTTP/1.
func blockedServer(t *testing.T, start func(*httptest.Server)) string {
	t.Helper()
	ended := make(chan struct{})
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/at-once":
			return
		case "/begin":
			w.Header().Set("Content-Length", "1000") // else a proxy flushes at once
			_, _ = io.WriteString(w, "begin")
			w.(http.Flusher).Flush()
		}
		select {
		case <-ended:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() {
		close(ended)
		srv.CloseClientConnections()
		srv.Close()
	})
	if start == nil {
		srv.Start()
	} else {
		start(srv)
	}
	return srv.URL
}

func get(t *testing.T, client *http.Client, url string) {
	t.Helper()
	resp, err := client.Get(url)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
}

// inBackground makes a request that ends with the test.
func inBackground(t *testing.T, client *http.Client, url string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if resp, err := client.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		client.CloseIdleConnections()
	})
}

// listen accepts connections, and sends nothing.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

type neverEnding struct{}

func (neverEnding) Read(p []byte) (int, error) { return len(p), nil }
