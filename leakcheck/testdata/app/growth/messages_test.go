package growth

import (
	"context"
	"html/template"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leakgate/leakgate/leakcheck"
)

//go:noinline
func numbersFrom(start int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := start; yield(i); i++ {
		}
	}
}

func TestSaysPull(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		next, _ := iter.Pull(numbersFrom(3))
		next()
	}, leakcheck.Iterations(6))
}

type hub struct{ done chan bool }

//go:noinline
func (h *hub) wait() { <-h.done }

func (h *hub) ServeHTTP(http.ResponseWriter, *http.Request) { h.wait() }

func TestSaysWaitGroup(t *testing.T) {
	var wg sync.WaitGroup
	h := &hub{make(chan bool)}
	leakcheck.AssertNoGrowth(t, func() { wg.Go(h.wait) }, leakcheck.Iterations(6))
	close(h.done)
	wg.Wait()
}

func TestSaysHandler(t *testing.T) {
	h := &hub{make(chan bool)}
	srv := httptest.NewServer(h)
	leakcheck.AssertNoGrowth(t, func() {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := http.DefaultClient.Do(req); err == nil {
			t.Fatal("the handler answers")
		}
	}, leakcheck.Iterations(6))
}

func TestSaysTransport(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	leakcheck.AssertNoGrowth(t, func() {
		client := &http.Client{Transport: &http.Transport{}}
		resp, err := client.Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}, leakcheck.Iterations(6))
}

func TestSaysSignals(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt)
		_ = ctx
	}, leakcheck.Iterations(6))
}

var page = template.Must(template.New("page").Parse("{{.}}"))

func TestSaysTemplate(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		next++
		template.Must(page.New(strconv.Itoa(next)).Parse("{{.}}"))
	}, leakcheck.Iterations(6))
}

var untilDone, done = context.WithCancel(context.Background())

func TestSaysCancel(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		ctx, _ := context.WithTimeout(untilDone, time.Hour)
		_ = ctx
	})
	done()
}

func serveJobs(jobs chan func(), counts *int) {
	for job := range jobs {
		job()
		defer func() { *counts++ }()
	}
}

func TestSaysDefer(t *testing.T) {
	jobs := make(chan func())
	var n int
	go serveJobs(jobs, &n)
	leakcheck.AssertNoGrowth(t, func() {
		ran := make(chan bool)
		jobs <- func() { close(ran) }
		<-ran
	})
	close(jobs)
}

func TestSaysSampled(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		next++
		sessions[strconv.Itoa(next)] = &session{buf: make([]byte, 1<<20)} // large enough for each to be sampled
	}, leakcheck.Iterations(6))
}

var firsts [][]*session

func TestSaysBeyond(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		all := make([]*session, 64)
		for i := range all {
			all[i] = &session{}
		}
		firsts = append(firsts, all[:1])
	}, leakcheck.Iterations(6))
}

var names []string

func TestSaysPart(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		line := strings.Repeat("x", 4096)
		names = append(names, line[:8])
	}, leakcheck.Iterations(6))
}
