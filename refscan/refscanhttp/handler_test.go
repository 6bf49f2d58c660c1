package refscanhttp

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
	"github.com/leakgate/leakgate/refscan/scanreport"
)

func get(t *testing.T, server *httptest.Server, query string) (*http.Response, string) {
	t.Helper()
	r, err := server.Client().Get(server.URL + "/debug/retained" + query)
	require.NoError(t, err)
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	if r.StatusCode == http.StatusNotImplemented {
		t.Skip(string(body))
	}
	return r, string(body)
}

func TestAnswers(t *testing.T) {
	kept.all, kept.taken = nil, 0 // of another round, with -count
	server := httptest.NewServer(new(Handler))
	defer server.Close()
	r, body := get(t, server, "?base=1")
	assert.Equal(t, http.StatusNotFound, r.StatusCode)
	assert.Contains(t, body, "there was no request before this one")
	r, body = get(t, server, "?base=previous")
	require.Equal(t, http.StatusOK, r.StatusCode, body)
	assert.Contains(t, body, "there was no request before this one; this scan is kept for the next\n\nprocess ")
	assert.Equal(t, "1", r.Header.Get("Leakgate-Scan"))

	r, body = get(t, server, "?top=1000")
	require.Equal(t, http.StatusOK, r.StatusCode, body)
	assert.Equal(t, "text/plain; charset=utf-8", r.Header.Get("Content-Type"))
	assert.Equal(t, "2", r.Header.Get("Leakgate-Scan"))
	assert.Contains(t, body, "reachable\n")
	assert.Contains(t, body, "retained\n")
	assert.NotContains(t, body, "more root", "all are shown")
	assert.NotContains(t, body, "refscanhttp.kept", "the tool's own are not")

	_, body = get(t, server, "?format=json")
	scan := new(scanreport.Scan)
	require.NoError(t, json.Unmarshal([]byte(body), scan))
	assert.True(t, scan.Report.Totals.LiveObjects > 100 && scan.Report.Totals.ExtraBytes == 0, scan.Report.Totals)

	r, body = get(t, server, "?format=profile")
	assert.Contains(t, r.Header.Get("Content-Disposition"), "retained.pb.gz")
	z, err := gzip.NewReader(strings.NewReader(body))
	require.NoError(t, err)
	profile, err := io.ReadAll(z)
	require.NoError(t, err)
	assert.True(t, bytes.Contains(profile, []byte("inuse_objects")) || bytes.Contains(profile, []byte("objects")), len(profile))

	request, err := http.NewRequest(http.MethodGet, server.URL+"/debug/retained", nil)
	require.NoError(t, err)
	request.Header.Set("Accept", "text/html,*/*")
	r, err = server.Client().Do(request)
	require.NoError(t, err)
	page, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	assert.Equal(t, "text/html; charset=utf-8", r.Header.Get("Content-Type"))
	assert.Contains(t, string(page), "<pre>process ")
}

// Of a server that only waits, with goroutines that a request's own differs from, nothing grows.
func TestHealthyServer(t *testing.T) {
	wait, waiting := make(chan bool), make(chan bool)
	mux := http.NewServeMux()
	mux.Handle("/debug/retained", new(Handler))
	mux.HandleFunc("/wait", func(http.ResponseWriter, *http.Request) { waiting <- true; <-wait })
	server := httptest.NewServer(mux)
	defer server.Close()
	defer close(wait)
	for range 5 {
		go func() {
			if r, err := http.Get(server.URL + "/wait"); err == nil {
				r.Body.Close()
			}
		}()
		<-waiting
	}
	get(t, server, "") // from the second on, connections are kept
	get(t, server, "")
	for range 3 {
		_, body := get(t, server, "?base=previous")
		grown, _, _ := strings.Cut(body, "\nprocess ")
		assert.NotContains(t, grown, "objects: 1 → 5")
		assert.NotContains(t, grown, " via runtime.")
	}
}

// Names of the program are escaped in the page.
func TestPageEscapes(t *testing.T) {
	var b strings.Builder
	scan := &scanreport.Scan{Program: "<b>app", Report: &refscan.Report{}}
	require.NoError(t, (&query{top: 1}).page(&b, scan, nil, nil))
	assert.Contains(t, b.String(), "of &lt;b&gt;app")
}

// The answer lists what has grown since an earlier request, and what holds it.
func TestGrowth(t *testing.T) {
	server := httptest.NewServer(new(Handler))
	defer server.Close()
	r, body := get(t, server, "")
	require.Equal(t, http.StatusOK, r.StatusCode, body)
	number := r.Header.Get("Leakgate-Scan")
	for i := range 500 {
		t.Setenv("LEAKGATE_TEST_"+strings.Repeat("X", i), "x") // in syscall.env
	}
	for _, base := range []string{"previous", number} {
		_, body = get(t, server, "?base="+base)
		assert.Contains(t, body, "memory has grown since the earlier scan")
		assert.Contains(t, body, " via syscall.env")
	}
	require.NotEmpty(t, os.Getenv("LEAKGATE_TEST_"))
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*http.Request)
		code   int
		text   string
	}{
		"from elsewhere":     {func(r *http.Request) { r.RemoteAddr = "192.0.2.1:5" }, http.StatusForbidden, "does not come from this machine; set AllowRemote"},
		"passed on":          {func(r *http.Request) { r.Header.Set("X-Forwarded-For", "192.0.2.1") }, http.StatusForbidden, "passed on (X-Forwarded-For)"},
		"another host":       {func(r *http.Request) { r.Host = "example.com:6060" }, http.StatusForbidden, `for "example.com"`},
		"no address":         {func(r *http.Request) { r.RemoteAddr = "@" }, http.StatusForbidden, "does not come from this machine"},
		"another site":       {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, http.StatusForbidden, "a page of another site made the request"},
		"another origin":     {func(r *http.Request) { r.Header.Set("Origin", "http://localhost:3000") }, http.StatusForbidden, "a page of another site made the request"},
		"method":             {func(r *http.Request) { r.Method = http.MethodPost }, http.StatusMethodNotAllowed, "only GET"},
		"format":             {func(r *http.Request) { r.URL.RawQuery = "format=x" }, http.StatusBadRequest, "format=x: there are html, text, json and profile"},
		"top":                {func(r *http.Request) { r.URL.RawQuery = "top=0" }, http.StatusBadRequest, "top=0"},
		"base of a profile":  {func(r *http.Request) { r.URL.RawQuery = "format=profile&base=previous" }, http.StatusBadRequest, "go tool pprof -base"},
		"base out of bounds": {func(r *http.Request) { r.URL.RawQuery = "base=1000000" }, http.StatusNotFound, "base=1000000"},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost:6060/debug/retained", nil)
		r.RemoteAddr = "127.0.0.1:5"
		c.change(r)
		w := httptest.NewRecorder()
		new(Handler).ServeHTTP(w, r)
		assert.Equal(t, c.code, w.Code, name)
		assert.Contains(t, w.Body.String(), c.text, name)
	}
	for _, host := range []string{"localhost", "localhost:80", "127.0.0.1:6060", "[::1]:6060", "[::1]"} {
		r := &http.Request{RemoteAddr: "[::1]:5", Host: host}
		assert.Equal(t, "", new(Handler).refuses(r), host)
	}
	remote := &http.Request{RemoteAddr: "192.0.2.1:5", Host: "x", Header: http.Header{"X-Forwarded-For": {"192.0.2.2"}}}
	assert.Equal(t, "", (&Handler{AllowRemote: true}).refuses(remote))
	remote.Header.Set("Sec-Fetch-Site", "cross-site")
	assert.Contains(t, (&Handler{AllowRemote: true}).refuses(remote), "a page of another site made the request")
}

// While a snapshot is taken, other requests are refused.
func TestOneAtATime(t *testing.T) {
	busy.Lock()
	defer busy.Unlock()
	server := httptest.NewServer(new(Handler))
	defer server.Close()
	r, body := get(t, server, "")
	assert.Equal(t, http.StatusServiceUnavailable, r.StatusCode)
	assert.Equal(t, "1", r.Header.Get("Retry-After"))
	assert.Contains(t, body, "another snapshot is being taken")
}

// A stuck client does not read its answer until told.
type stuck struct {
	*httptest.ResponseRecorder
	writes, read chan bool
}

func (s stuck) Write(b []byte) (int, error) {
	s.writes <- true
	<-s.read
	return s.ResponseRecorder.Write(b)
}

// A client that does not read its answer keeps nobody waiting.
func TestStuckClient(t *testing.T) {
	request := httptest.NewRequest(http.MethodGet, "http://localhost/debug/retained", nil)
	request.RemoteAddr = "127.0.0.1:5"
	client := stuck{httptest.NewRecorder(), make(chan bool), make(chan bool)}
	ended := make(chan bool)
	go func() {
		defer close(ended)
		new(Handler).ServeHTTP(client, request)
	}()
	<-client.writes
	server := httptest.NewServer(new(Handler))
	defer server.Close()
	r, body := get(t, server, "")
	assert.Equal(t, http.StatusOK, r.StatusCode, body)
	close(client.read)
	<-ended
	assert.Equal(t, http.StatusOK, client.Code)
}

// The last scans are kept, by the numbers in their answers.
func TestKept(t *testing.T) {
	var s scans
	for n := 1; n <= 6; n++ {
		assert.Equal(t, n, s.add(&scanreport.Scan{Attempts: n}))
	}
	for name, want := range map[string]int{"previous": 6, "6": 6, "3": 3} {
		got, older, err := s.get(name)
		require.NoError(t, err)
		assert.Equal(t, want, got.Attempts, name)
		require.Equal(t, name == "previous", older != nil)
	}
	for _, name := range []string{"2", "7", "x", "-1"} {
		_, _, err := s.get(name)
		assert.ErrorContains(t, err, "those kept are 3 to 6, and previous", name)
	}
}
