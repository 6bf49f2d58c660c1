package leakcheck_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/leakcheck"
)

// Idle connections of http.DefaultTransport are no leak, neither with HTTP/1 nor with HTTP/2: those
// to one host do not grow. The Transport's records of them break no bound on their type, but are
// named in the log. Objects that their goroutines hold count.
func TestIdleConnections(t *testing.T) {
	fillCut(t)
	transport := http.DefaultTransport.(*http.Transport)
	for _, tt := range []struct {
		name  string
		http2 bool
		proto string
	}{{"HTTP1", false, "HTTP/1.1"}, {"HTTP2", true, "HTTP/2.0"}} {
		t.Run(tt.name, func(t *testing.T) {
			srv := httptest.NewUnstartedServer(http.NotFoundHandler())
			srv.EnableHTTP2 = tt.http2
			srv.StartTLS()
			defer srv.Close()
			roots := x509.NewCertPool()
			roots.AddCert(srv.Certificate())
			client := transport.Clone()
			client.TLSClientConfig = &tls.Config{RootCAs: roots}
			http.DefaultTransport = client
			defer func() { // the deferred function itself does not hold client
				http.DefaultTransport.(*http.Transport).CloseIdleConnections()
				http.DefaultTransport = transport
			}()
			get := func() {
				resp, err := http.Get(srv.URL)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if resp.Proto != tt.proto {
					t.Fatal(resp.Proto)
				}
			}
			ft := &recordingT{name: t.Name()}
			if !leakcheck.AssertNoGrowth(ft, get, leakcheck.Iterations(10)) {
				t.Error(ft.errors)
			}
			passed := leakcheck.AssertRetained(ft, leakcheck.TypeNamed("net/http.persistConn").None())
			if passed != tt.http2 { // the goroutines of HTTP/2 have a type of their own
				t.Error(passed, ft.errors)
			}
			if tt.http2 && !strings.Contains(strings.Join(ft.logs, "\n"), "net/http.DefaultTransport.idle") {
				t.Error(ft.logs)
			}
		})
	}
}
