package stackhttp_test

import (
	"net/http"
	"net/http/httptest"
	_ "net/http/pprof"
	"os"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/pproftest"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/stackprof/stackhttp"
)

// As the package's comment has it, beside net/http/pprof in the same mux.
func init() { http.HandleFunc("GET /debug/pprof/stackmem", stackhttp.Profile) }

func get(t *testing.T, query string) *http.Response {
	t.Helper()
	server := httptest.NewServer(http.DefaultServeMux)
	t.Cleanup(server.Close)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/debug/pprof/stackmem"+query, nil)
	require.NoError(t, err)
	response, err := server.Client().Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, response.Body.Close()) })
	return response
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	recorder := httptest.NewRecorder()
	_, err := recorder.Body.ReadFrom(r.Body)
	require.NoError(t, err)
	return recorder.Body.String()
}

func TestProfile(t *testing.T) {
	response := get(t, "")
	require.Equal(t, http.StatusOK, response.StatusCode)
	assert.Equal(t, "application/octet-stream", response.Header.Get("Content-Type"))
	p, err := pproftest.Parse(response.Body)
	require.NoError(t, err)
	names := make(map[string]bool)
	for _, f := range p.Function {
		names[f.Name] = true
	}
	assert.True(t, names["net/http.(*conn).serve"], "the goroutine that serves the request is in the profile")
}

func TestText(t *testing.T) {
	response := get(t, "?debug=1&n=3")
	require.Equal(t, http.StatusOK, response.StatusCode)
	assert.Equal(t, "text/plain; charset=utf-8", response.Header.Get("Content-Type"))
	assert.Regexp(t, `(?s)^stack memory: \d+ bytes .*unattributed 0\).*and \d+ more functions\n$`, body(t, response))
}

func TestBadParameters(t *testing.T) {
	for query, text := range map[string]string{"?debug=x": "debug", "?debug=-1": "debug", "?debug=1&n=-1": "n="} {
		response := get(t, query)
		assert.Equal(t, http.StatusBadRequest, response.StatusCode, query)
		assert.Contains(t, body(t, response), text)
	}
}

// What the package's comment has programs write is what the tests above do.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("handler.go")
	require.NoError(t, err)
	assert.Contains(t, string(text), `mux.HandleFunc("GET /debug/pprof/stackmem", stackhttp.Profile)`)
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct{ from, host, site, why string }{
		{"192.0.2.1:5", "app.example.com", "same-origin", ""},
		{"192.0.2.1:5", "app.example.com", "cross-site", "a page of another site made the request"},
		{"127.0.0.1:5", "localhost:6060", "", ""},
		{"127.0.0.1:5", "rebound.example.com:6060", "", "a proxy on this machine has to pass requests on for localhost"},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://"+c.host+"/debug/pprof/stackmem?debug=x", nil)
		r.RemoteAddr = c.from
		r.Header.Set("Sec-Fetch-Site", c.site)
		w := httptest.NewRecorder()
		stackhttp.Profile(w, r)
		if c.why == "" {
			assert.Equal(t, http.StatusBadRequest, w.Code, c) // it was served: its parameter is wrong
			continue
		}
		assert.Equal(t, http.StatusForbidden, w.Code, c)
		assert.Contains(t, w.Body.String(), c.why, c)
	}
}
