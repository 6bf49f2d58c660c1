package growth

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"testing"
	"time"

	lib "example.com/app/cmd/lib/v2"
	"github.com/leakgate/leakgate/leakcheck"
)

type session struct {
	id  string
	buf []byte
}

var (
	sessions = map[string]*session{}
	numbers  = map[int]int{}
	journal  []int
	latest   *link
	service  struct {
		state struct{ conns []*session }
	}
	running, _ = context.WithCancel(context.Background())
	next       int
)

type link struct {
	value [4]int
	older *link
}

func TestLeakMap(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		next++
		id := "session-number-" + strconv.Itoa(next)
		sessions[id] = &session{id: id, buf: make([]byte, 1000)}
	})
}

func TestLeakEntries(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() { next++; numbers[next] = next })
}

func TestLeakAppend(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() { journal = append(journal, 1) })
}

func TestLeakEveryOther(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		if next++; next%2 == 0 {
			service.state.conns = append(service.state.conns, &session{id: "x"})
		}
	})
}

func TestLeakList(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() { latest = &link{older: latest} })
}

func TestLeakContext(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		ctx, _ := context.WithCancel(running)
		_ = ctx
	})
}

func TestLeakTimer(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		s := &session{buf: make([]byte, 100)}
		time.AfterFunc(time.Hour, func() { s.buf[0]++ })
	})
}

func watch(s *session, stop chan bool) {
	<-stop
	s.buf[0]++
}

func startWatch() {
	go watch(&session{buf: make([]byte, 5000)}, make(chan bool))
}

func TestLeakGoroutine(t *testing.T) {
	leakcheck.AssertNoGrowth(t, startWatch, leakcheck.Iterations(20))
}

func startIdle() { go func() { select {} }() }

func TestLeakIdleGoroutine(t *testing.T) {
	leakcheck.AssertNoGrowth(t, startIdle, leakcheck.Iterations(20))
}

func TestLeakOwn(t *testing.T) {
	var kept []*session
	leakcheck.AssertNoGrowth(t, func() { kept = append(kept, &session{id: "mine"}) })
	if len(kept) == 0 {
		t.Error("nothing was done")
	}
}

func TestLeakCaptured(t *testing.T) {
	var kept []*session
	leakcheck.AssertNoGrowth(t, func() { kept = append(kept, &session{id: "mine"}) })
}

func TestLeakOfLocal(t *testing.T) {
	c := lib.NewClient()
	leakcheck.AssertNoGrowth(t, c.Ask)
	c.Close()
}

func TestLeakOfDeferred(t *testing.T) {
	c := lib.NewClient()
	defer c.Close()
	leakcheck.AssertNoGrowth(t, func() { c.Ask() })
}

func TestLeakOfCleanup(t *testing.T) {
	c := lib.NewClient()
	t.Cleanup(func() { c.Close() })
	leakcheck.AssertNoGrowth(t, func() { c.Ask() })
}

func TestLeakOfOp(t *testing.T) {
	leakcheck.AssertNoGrowth(t, lib.NewClient().Ask)
}

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

var weights = map[*session]int{}

func TestLeakKeys(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() { weights[&session{id: "key"}] = 1 })
}

var flags = map[[2]int]bool{}

func TestLeakPlainKeys(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() { next++; flags[[2]int{next, 1}] = true })
}

// A twin refers to its other half, and that one back.
type twin struct{ other *twin }

func TestLeakFinalizer(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		one := &twin{}
		one.other = &twin{other: one}
		runtime.SetFinalizer(one, func(*twin) {})
	})
}
