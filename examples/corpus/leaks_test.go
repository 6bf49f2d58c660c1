package corpus

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/leakgate/leakgate/leakcheck"
)

// A Session is what most of these programs keep.
type Session struct {
	ID   string
	data []byte
}

func newSession() *Session {
	return &Session{ID: fmt.Sprint("session-", time.Now().UnixNano()), data: make([]byte, 500)}
}

// A map that nothing is deleted from.
var sessions = map[string]*Session{}

func TestLeakMap(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		s := newSession()
		sessions[s.ID] = s
	})
}

// A short slice of a long array keeps all of it.
var headers [][]byte

func TestLeakSubslice(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		body := bytes.Repeat([]byte("header body "), 1000)
		headers = append(headers, body[:6])
	})
}

// A short string that is part of a long one keeps all of it.
var words []string

func TestLeakSubstring(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		text := strings.Repeat("many words ", 1000)
		first, _, _ := strings.Cut(text, " ")
		words = append(words, first)
	})
}

// A listener that is not removed.
type bus struct{ listeners []func(string) }

func (b *bus) on(f func(string)) { b.listeners = append(b.listeners, f) }

var events bus

func TestLeakListener(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		s := newSession()
		events.on(func(e string) { s.ID = e })
	})
}

// An observer that does not unregister: by method value, in a map of interfaces.
type observer interface{ notify() }

func (s *Session) notify() {}

type registry struct {
	mu        sync.Mutex
	observers map[observer]func()
}

var observers = &registry{observers: map[observer]func(){}}

func TestLeakObserver(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		s := newSession()
		observers.mu.Lock()
		defer observers.mu.Unlock()
		observers.observers[s] = s.notify
	})
}

// A child context that is never cancelled, while its parent lives on.
var running, stopRunning = context.WithCancel(context.Background())

func TestLeakContext(t *testing.T) {
	defer runtime.KeepAlive(stopRunning)
	leakcheck.AssertNoGrowth(t, func() {
		ctx, cancel := context.WithTimeout(running, time.Hour)
		_, _ = ctx, cancel
	})
}

// A timer that is not stopped.
func TestLeakTimer(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		s := newSession()
		time.AfterFunc(time.Hour, s.notify)
	})
}

// Goroutines that wait for ever: to receive, to send, in a select, for a lock.
func TestLeakReceiver(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() { go receive(newSession(), make(chan int)) }, leakcheck.Iterations(20))
}

func receive(s *Session, c chan int) {
	<-c
	s.notify()
}

func TestLeakSender(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		result := make(chan *Session)
		go send(result) // the caller does not wait, and nobody else will
	}, leakcheck.Iterations(20))
}

func send(result chan *Session) { result <- newSession() }

func TestLeakSelect(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() { go work(newSession(), make(chan int), make(chan bool)) }, leakcheck.Iterations(20))
}

func work(s *Session, jobs chan int, quit chan bool) {
	for {
		select {
		case <-jobs:
			s.notify()
		case <-quit:
			return
		}
	}
}

func TestLeakLock(t *testing.T) {
	var mu sync.Mutex
	mu.Lock()
	leakcheck.AssertNoGrowth(t, func() { go update(&mu, newSession()) }, leakcheck.Iterations(20))
	mu.Unlock()
}

func update(mu *sync.Mutex, s *Session) {
	mu.Lock()
	defer mu.Unlock()
	s.notify()
}

// Two objects with finalizers that refer to each other are never freed.
type half struct {
	other *half
	data  []byte
}

func TestLeakFinalizerCycle(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		a, b := &half{data: make([]byte, 100)}, &half{data: make([]byte, 100)}
		a.other, b.other = b, a
		runtime.SetFinalizer(a, (*half).close)
		runtime.SetFinalizer(b, (*half).close)
	})
}

func (h *half) close() { h.other = nil }

// A handler that captures the session that it was made for.
var handlers []http.HandlerFunc

func TestLeakClosure(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		s := newSession()
		handlers = append(handlers, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, s.ID) })
	})
}

// A sync.Map that nothing is deleted from.
var byTime sync.Map

func TestLeakSyncMap(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() { byTime.Store(time.Now().UnixNano(), newSession()) })
}

// A pool without sync.Pool. Its buffers keep the size of their largest use, and nobody takes them
// again.
type bufferPool struct {
	mu   sync.Mutex
	free []*bytes.Buffer
}

var buffers bufferPool

func TestLeakPool(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		b := new(bytes.Buffer)
		b.Write(make([]byte, 10_000))
		buffers.mu.Lock()
		buffers.free = append(buffers.free, b) // nobody takes one out again
		buffers.mu.Unlock()
	})
}

// A slice that is only appended to.
var journal []string

func TestLeakAppend(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() { journal = append(journal, newSession().ID) })
}

// Deferred calls of a loop that never ends.
func TestLeakDefer(t *testing.T) {
	jobs, done := make(chan *Session), make(chan bool)
	go consume(jobs, done)
	leakcheck.AssertNoGrowth(t, func() {
		jobs <- newSession()
		<-done
	})
	close(jobs)
}

func consume(jobs chan *Session, done chan bool) {
	for s := range jobs {
		defer s.notify()
		done <- true
	}
}

// A channel whose buffer fills with what nobody reads.
var audit = make(chan *Session, 1<<20)

func TestLeakBufferedChannel(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() { audit <- newSession() })
}

// A cache without eviction.
type memo struct{ results map[[2]int64]*Session }

var cache = memo{results: map[[2]int64]*Session{}}

func TestLeakCache(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		now := time.Now().UnixNano()
		cache.results[[2]int64{now, now + 1}] = newSession()
	})
}

// A response whose body is not closed.
func TestLeakBody(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write(make([]byte, 100_000))
	}))
	leakcheck.AssertNoGrowth(t, func() {
		resp, err := http.Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp
	}, leakcheck.Iterations(10))
	go srv.Close()
}

// A metric with a label that never repeats.
var requests = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "requests"}, []string{"user"})

func TestLeakMetric(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() { requests.WithLabelValues(newSession().ID).Inc() })
}

// A list whose tail is held.
type entry struct {
	next *entry
	data [10]int
}

var tail *entry

func TestLeakList(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() { tail = &entry{next: tail} })
}

// An object that several places hold.
var (
	byName = map[string]*Session{}
	recent []*Session
)

func TestLeakTwice(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		s := newSession()
		byName[s.ID] = s
		recent = append(recent, s)
	})
}
