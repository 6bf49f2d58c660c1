// Package web leaks by HTTP clients and servers.
package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/corpus/app"
	"example.com/corpus/internal/judge"
)

// Group is the cases of the package.
var Group = judge.Group{Name: "web", Cases: []judge.Case{
	{Name: "BodyOpen", Leak: bodies(false), Fixed: bodies(true), Grows: judge.Goroutines.After(5), Calls: 5, Culprit: `web\.get|net/http\.\(\*persistConn\)\.readLoop`, Also: "Body of a response is not closed"},
	{Name: "TransportPerCall", Leak: transports(false), Fixed: transports(true), Grows: judge.Goroutines.After(5), Calls: 5, Culprit: `net/http\.\(\*persistConn\)\.(read|write)Loop`},
	{Name: "ServerOpen", Leak: servers(false), Fixed: servers(true), Grows: judge.Goroutines.After(5), Calls: 5, Culprit: `web\.startServer|web\.servers|net/http\.\(\*Server\)\.Serve`},
	{Name: "TestServerOpen", Leak: testServers(false), Fixed: testServers(true), Grows: judge.Goroutines.After(5), Calls: 5, Culprit: `httptest\.\(\*Server\)`},
	{Name: "RoutePerCall", Leak: routes(false), Fixed: routes(true), Grows: judge.Objects, Culprit: `net/http\.(DefaultServeMux|defaultServeMux)|web\.mux`},
	{Name: "HandlerBlocked", Leak: blockedHandlers(false), Fixed: blockedHandlers(true), Grows: judge.Goroutines.After(5), Calls: 5, Culprit: `web\.waitForNews|net/http\.\(\*conn\)\.serve`},
	{Name: "HandlerTimeout", Leak: handlerTimeouts(false), Fixed: handlerTimeouts(true), Grows: judge.Goroutines.After(5), Calls: 5, Culprit: `web\.slow|net/http\.\(\*timeoutHandler\)`},
	{Name: "RegisteredProtocol", Leak: judge.Op(registerProtocol), Fixed: judge.Op(reuseProtocol), Grows: judge.Objects, Culprit: `net/http\.DefaultTransport|web\.transport`},
	{Name: "DefaultTransportHeader", Leak: judge.Op(addHeader, resetHeader), Fixed: judge.Op(setHeader, resetHeader), Grows: judge.Objects, Culprit: `net/http\.DefaultTransport`},
	{Name: "Hijacked", Leak: hijacks(false), Fixed: hijacks(true), Grows: judge.Goroutines.After(5), Calls: 5, Culprit: `web\.upgrade`},
	{Name: "CookieJar", Leak: cookies(false), Fixed: cookies(true), Grows: judge.Objects, Culprit: `web\.jar|jar`},
	{Name: "OnShutdown", Leak: shutdowns(false), Fixed: shutdowns(true), Grows: judge.Objects, Culprit: `web\.api|onShutdown`},
	{Name: "ConnStates", Leak: connStates(false), Fixed: connStates(true), Grows: judge.Objects.After(20), Calls: 10, Culprit: `web\.states|states`},
	{Name: "Events", Leak: eventStreams(false), Fixed: eventStreams(true), Grows: judge.Goroutines.After(5), Calls: 5, Culprit: `at example\.com/corpus/web\.waitForNews`},
	{Name: "ResponsesKept", Leak: keptResponses(false), Fixed: keptResponses(true), Grows: judge.Objects.After(20), Calls: 10, Culprit: `web\.history`},
	{Name: "ProxyPerHost", Leak: judge.Op(proxyPerHost, clearProxies), Fixed: judge.Op(proxyOfHost, clearProxies), Grows: judge.Objects, Culprit: `web\.proxies`},
	{Name: "Middleware", Leak: judge.Op(wrapForever, clearChain), Fixed: judge.Op(wrapOnce, clearChain), Grows: judge.Objects, Culprit: `web\.chain`},
	{Name: "RequestContexts", Leak: keptRequests(false), Fixed: keptRequests(true), Grows: judge.Objects.After(20), Calls: 10, Culprit: `web\.slowest`},

	{Name: "KeepAlive", Healthy: keepAlive, Grows: judge.Objects.After(20).PerCall(5)},
	{Name: "Parallel", Healthy: parallel, Grows: judge.Goroutines.After(5)},
	{Name: "ServerPerCall", Healthy: testServers(true), Grows: judge.Goroutines.After(5)},
	{Name: "Recorder", Healthy: judge.Op(recorded), Grows: judge.Objects},
	{Name: "ClientTimeout", Healthy: clientTimeout, Grows: judge.Objects.After(20).PerCall(5)},
	{Name: "Streamed", Healthy: streamed, Grows: judge.Goroutines.After(5)},
}}

func page(w http.ResponseWriter, r *http.Request) {
	fmt.Fprint(w, "page ", r.URL, strings.Repeat(".", 5000))
}

// serve starts a server for one test, and a client of its own.
func serve(t *testing.T, h http.HandlerFunc) (*httptest.Server, *http.Client) {
	srv := httptest.NewServer(h)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		srv.CloseClientConnections()
		srv.Listener.Close()
	})
	return srv, client
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func finish(resp *http.Response) {
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
}

func bodies(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		srv, client := serve(t, page)
		return func() {
			resp := must(client.Get(srv.URL))
			if fixed {
				finish(resp)
			}
		}
	}
}

func transports(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		srv, _ := serve(t, page)
		return func() {
			client := &http.Client{Transport: &http.Transport{}}
			finish(must(client.Get(srv.URL)))
			if fixed {
				client.CloseIdleConnections()
			} else {
				t.Cleanup(client.CloseIdleConnections)
			}
		}
	}
}

func startServer() *http.Server {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	srv := &http.Server{Handler: http.HandlerFunc(page)}
	go func() { _ = srv.Serve(l) }()
	return srv
}

func servers(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		return func() {
			srv := startServer()
			if fixed {
				srv.Close()
			} else {
				t.Cleanup(func() { srv.Close() })
			}
		}
	}
}

func testServers(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		return func() {
			srv := httptest.NewServer(http.HandlerFunc(page))
			if fixed {
				srv.Close()
			} else {
				t.Cleanup(srv.Close)
			}
		}
	}
}

func routes(fixed bool) judge.Setup {
	return func(*testing.T) func() {
		once := fmt.Sprintf("/once/%d", app.Next())
		registered := false
		return func() {
			switch {
			case !fixed:
				http.HandleFunc(fmt.Sprintf("/sessions/%d", app.Next()), page)
			case !registered:
				http.HandleFunc(once, page)
				registered = true
			}
		}
	}
}

func waitForNews(news, gone <-chan struct{}) {
	select {
	case <-news:
	case <-gone:
	}
}

func blockedHandlers(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		news := make(chan struct{})
		srv, client := serve(t, func(_ http.ResponseWriter, r *http.Request) {
			gone := r.Context().Done()
			if !fixed {
				gone = nil
			}
			waitForNews(news, gone)
		})
		t.Cleanup(func() { close(news) })
		return func() {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
			defer cancel()
			resp, err := client.Do(must(http.NewRequestWithContext(ctx, "GET", srv.URL, nil)))
			if err == nil {
				finish(resp)
			}
		}
	}
}

func slow(news <-chan struct{}, gone <-chan struct{}) { waitForNews(news, gone) }

func handlerTimeouts(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		news := make(chan struct{})
		t.Cleanup(func() { close(news) })
		h := http.TimeoutHandler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			gone := r.Context().Done()
			if !fixed {
				gone = nil
			}
			slow(news, gone)
		}), time.Millisecond, "too slow")
		return func() { h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)) }
	}
}

type files struct{ session *app.Session }

func (f *files) RoundTrip(*http.Request) (*http.Response, error) { return nil, http.ErrNotSupported }

func registerProtocol() {
	http.DefaultTransport.(*http.Transport).RegisterProtocol(fmt.Sprint("files-", app.Next()), &files{app.NewSession()})
}

func reuseProtocol() { _ = &files{app.NewSession()} }

func defaultHeader() http.Header {
	transport := http.DefaultTransport.(*http.Transport)
	if transport.ProxyConnectHeader == nil {
		transport.ProxyConnectHeader = http.Header{}
	}
	return transport.ProxyConnectHeader
}

func resetHeader() { http.DefaultTransport.(*http.Transport).ProxyConnectHeader = nil }

func addHeader() { defaultHeader().Add("X-Session", app.NewSession().ID) }

func setHeader() { defaultHeader().Set("X-Session", app.NewSession().ID) }

func upgrade(conn net.Conn, rw *bufio.ReadWriter) {
	defer conn.Close()
	_, _ = rw.ReadString('\n')
}

func hijacks(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		srv, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			conn, rw, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			go upgrade(conn, rw)
		})
		return func() {
			conn := must(net.Dial("tcp", srv.Listener.Addr().String()))
			fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n")
			if fixed {
				conn.Close()
			} else {
				t.Cleanup(func() { conn.Close() })
			}
		}
	}
}

func cookies(fixed bool) judge.Setup {
	return func(*testing.T) func() {
		jar := must(cookiejar.New(nil))
		return func() {
			host := "shop.example.com"
			if !fixed {
				host = fmt.Sprintf("shop%d.example.com", app.Next())
			}
			jar.SetCookies(must(url.Parse("http://"+host)), []*http.Cookie{{Name: "session", Value: app.NewSession().ID}})
		}
	}
}

// api is the one server of the program.
var api = &http.Server{}

func shutdowns(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		api = &http.Server{}
		t.Cleanup(func() { api = &http.Server{} })
		once := false
		return func() {
			if fixed && once {
				return
			}
			once = true
			api.RegisterOnShutdown(app.NewSession().Expire)
		}
	}
}

func connStates(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		var mu sync.Mutex
		states := map[string]http.ConnState{}
		srv := httptest.NewUnstartedServer(http.HandlerFunc(page))
		changes := make(chan http.ConnState, 1000)
		srv.Config.ConnState = func(c net.Conn, s http.ConnState) {
			mu.Lock()
			if s == http.StateClosed && fixed {
				delete(states, c.RemoteAddr().String())
			} else {
				states[c.RemoteAddr().String()] = s
			}
			mu.Unlock()
			changes <- s
		}
		srv.Start()
		t.Cleanup(srv.Close)
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		return func() {
			finish(must(client.Get(srv.URL)))
			for <-changes != http.StateClosed { // one connection after the other
			}
		}
	}
}

func eventStreams(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		stop := make(chan struct{})
		srv, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "data: hello\n\n")
			w.(http.Flusher).Flush()
			waitForNews(stop, r.Context().Done())
		})
		t.Cleanup(func() { close(stop) })
		return func() {
			resp := must(client.Get(srv.URL))
			_ = must(bufio.NewReader(resp.Body).ReadString('\n'))
			if fixed {
				resp.Body.Close()
			}
		}
	}
}

var history []*http.Response

func keptResponses(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		srv, client := serve(t, page)
		t.Cleanup(func() { history = nil })
		return func() {
			resp := must(client.Get(srv.URL))
			finish(resp)
			if fixed {
				history = append(history[:0], resp)
			} else {
				history = append(history, resp)
			}
		}
	}
}

var proxies = map[string]*httputil.ReverseProxy{}

func clearProxies() { clear(proxies) }

func proxyTo(host string) *httputil.ReverseProxy {
	if p := proxies[host]; p != nil {
		return p
	}
	p := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: host})
	proxies[host] = p
	return p
}

func proxyPerHost() { proxyTo(fmt.Sprintf("tenant%d.example.com", app.Next())) }

func proxyOfHost() { proxyTo("tenant.example.com") }

// chain is the handler that each request goes through.
var chain http.Handler = http.NotFoundHandler()

func clearChain() { chain = http.NotFoundHandler() }

func counted(next http.Handler) http.Handler {
	n := new(int)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*n++
		next.ServeHTTP(w, r)
	})
}

func wrapForever() { chain = counted(chain) }

func wrapOnce() { chain = counted(http.NotFoundHandler()) }

// slowest are requests that took long.
var (
	slowestMu sync.Mutex
	slowest   []*http.Request
)

func noteSlow(r *http.Request, most int) {
	slowestMu.Lock()
	defer slowestMu.Unlock()
	if slowest = append(slowest, r); len(slowest) > most {
		slowest = nil
	}
}

func keptRequests(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		most := 1 << 30
		if fixed {
			most = 3
		}
		srv, client := serve(t, func(_ http.ResponseWriter, r *http.Request) { noteSlow(r, most) })
		t.Cleanup(func() { noteSlow(nil, 0) })
		return func() { finish(must(client.Get(srv.URL))) }
	}
}

func keepAlive(t *testing.T) func() {
	srv, client := serve(t, page)
	return func() { finish(must(client.Get(srv.URL))) }
}

func parallel(t *testing.T) func() {
	srv, client := serve(t, page)
	return func() {
		done := make(chan struct{})
		for range 4 {
			go func() {
				defer func() { done <- struct{}{} }()
				finish(must(client.Get(srv.URL)))
			}()
		}
		for range 4 {
			<-done
		}
		client.CloseIdleConnections()
	}
}

func recorded() {
	w := httptest.NewRecorder()
	page(w, httptest.NewRequest("GET", "/page", nil))
	finish(w.Result())
}

func clientTimeout(t *testing.T) func() {
	srv, client := serve(t, page)
	client.Timeout = time.Hour
	return func() { finish(must(client.Get(srv.URL))) }
}

// The client hangs up while the server is still sending, and the server notices.
func streamed(t *testing.T) func() {
	srv, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := fmt.Fprintln(w, strings.Repeat("data ", 100)); err != nil {
				return
			}
		}
	})
	return func() {
		resp := must(client.Get(srv.URL))
		_ = must(bufio.NewReader(resp.Body).ReadString('\n'))
		resp.Body.Close()
	}
}
