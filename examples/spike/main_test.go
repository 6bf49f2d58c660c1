package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/refscan/spike"
)

// get requests a path. The caller has to read the answer.
func get(t *testing.T, server *httptest.Server, path string) *http.Response {
	t.Helper()
	r, err := server.Client().Get(server.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// read reads an answer to its end.
func read(t *testing.T, r *http.Response) {
	t.Helper()
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
}

// serveUntil sends the server's usual requests, with a garbage collection after each, until c has a
// value.
func serveUntil[T any](t *testing.T, server *httptest.Server, c <-chan T) (v T) {
	t.Helper()
	for {
		select {
		case v = <-c:
			return v
		default:
			read(t, get(t, server, "/rand"))
			runtime.GC()
		}
	}
}

// The report names the handler that holds memory, and not the cache, which is always there.
func TestSpike(t *testing.T) {
	server := httptest.NewServer(handler())
	defer server.Close()
	spikes := make(chan *spike.Spike, 1)
	watcher, err := watch(func(s *spike.Spike) { spikes <- s })
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	serveUntil(t, server, watcher.Ready())

	slow := get(t, server, "/spike") // the server holds all that is not read
	s := serveUntil(t, server, spikes)
	read(t, slow)

	t.Log(s)
	if s.Err != nil || !s.Held {
		t.Fatalf("held: %v; %v", s.Held, s.Err)
	}
	text := s.String()
	if i := strings.Index(text, " more via "); i < 0 || !strings.HasPrefix(text[i:], " more via example.com/spike.export.rows  [][]uint8\n") {
		t.Errorf("the first place that holds more is not export's rows")
	}
	for _, want := range []string{
		"held by the variable example.com/spike.export.rows",
		"        example.com/spike.makeRow (",
		"        example.com/spike.export (",
		"example.com/spike.cache  []uint8\n", // in the tree of all that is held
	} {
		if !strings.Contains(text, want) {
			t.Errorf("missing: %q", want)
		}
	}
	if strings.Contains(text, "more via example.com/spike.cache") {
		t.Errorf("the cache holds no more than before")
	}
}
