package growth

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/leakgate/leakgate/leakcheck"
)

// An lru keeps the 100 latest.
type lru struct {
	items map[int]*session
	order []int
}

func (c *lru) add(id int) {
	c.items[id] = &session{id: strconv.Itoa(id)}
	if c.order = append(c.order, id); len(c.order) > 100 {
		delete(c.items, c.order[0])
		c.order = slices.Delete(c.order, 0, 1)
	}
}

var (
	cache   = lru{items: make(map[int]*session)}
	pool    = sync.Pool{New: func() any { return make([]byte, 10_000) }}
	byName  sync.Map
	ring    [64]*session
	seldom  []*session
	lazy    = sync.OnceValue(func() []int { return make([]int, 1000) })
	logger  = slog.New(slog.NewJSONHandler(io.Discard, nil))
	pattern = "^a.c$"
)

func TestHealthyCache(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() { next++; cache.add(next) }, leakcheck.Warmup(150))
}

func TestHealthyFilledWithin(t *testing.T) {
	c := lru{items: make(map[int]*session)}
	leakcheck.AssertNoGrowth(t, func() { next++; c.add(next) }, leakcheck.Warmup(10), leakcheck.Iterations(20))
}

func TestHealthyLogarithm(t *testing.T) {
	n := 0
	leakcheck.AssertNoGrowth(t, func() {
		n++
		for float64(len(seldom)) < 8*math.Log2(float64(n)) {
			seldom = append(seldom, &session{})
		}
	})
}

func TestHealthyPool(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		b := pool.Get().([]byte)
		pool.Put(b)
		pool.Put(make([]byte, 10_000))
		_ = lazy()
	})
}

func TestHealthySyncMap(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		next++
		byName.Store(next, &session{})
		byName.Delete(next)
		byName.Store(next%50, &session{})
		ring[next%len(ring)] = &session{}
	})
}

func TestHealthyServer(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello %s", r.URL.Path)
	}))
	defer srv.Close()
	leakcheck.AssertNoGrowth(t, func() {
		next++
		resp, err := srv.Client().Get(srv.URL + "/" + strconv.Itoa(next))
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	})
}

// The connections end a moment after the request has been answered.
func TestHealthyConnections(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	leakcheck.AssertNoGrowth(t, func() {
		resp, err := client.Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	})
}

func TestHealthyServers(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		srv := httptest.NewServer(http.NotFoundHandler())
		resp, err := http.Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		srv.Close()
	})
}

func TestHealthyLibrary(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		next++
		logger.With("n", next).Info("done", "value", struct{ A, B int }{1, next})
		regexp.MustCompile(pattern).MatchString("abc")
		var b bytes.Buffer
		if err := json.NewEncoder(&b).Encode(map[string]any{"n": next, "s": session{id: "x"}}); err != nil {
			t.Fatal(err)
		}
		reflect.TypeOf(reflect.New(reflect.ArrayOf(next%7+1, reflect.TypeFor[int]())).Interface())
	})
}

func TestHealthyTicker(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		ticker := time.NewTicker(time.Millisecond)
		timer := time.AfterFunc(time.Hour, func() {})
		done := make(chan bool)
		go func() {
			<-ticker.C
			time.Sleep(5 * time.Millisecond)
			done <- true
		}()
		<-done
		ticker.Stop()
		timer.Stop()
	})
}

// Its goroutines end some time after op has returned.
func TestHealthyStragglers(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		go func() { time.Sleep(40 * time.Millisecond) }()
	})
}

func TestHealthyWorkers(t *testing.T) {
	jobs := make(chan func())
	for range 4 {
		go func() {
			for job := range jobs {
				job()
			}
		}()
	}
	defer close(jobs)
	leakcheck.AssertNoGrowth(t, func() {
		var wg sync.WaitGroup
		for range 10 {
			wg.Add(1)
			s := &session{buf: make([]byte, 10)}
			jobs <- func() { s.buf[0]++; wg.Done() }
		}
		wg.Wait()
	})
}

// What the testing package keeps until the test ends is none of the program's memory.
func TestHealthyTest(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		dir := t.TempDir()
		t.Log("in", dir)
		t.Cleanup(func() { _ = dir })
	}, leakcheck.Iterations(10))
}
