package collected

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/leakgate/leakgate/leakcheck"
)

func TestHealthy(t *testing.T) {
	for range 10 {
		s := Login("a")
		leakcheck.ExpectCollected(t, s, "logged out")
		leakcheck.ExpectCollected(t, &s.buf, "part of it")
		s.Logout()
	}
	w := weak.Make(Login("b"))
	w.Value().Logout()
	leakcheck.AssertCollected(t, w, "logged out")
}

// What was registered with Cleanup stays in the testing package's list until the test is over.
func TestHealthyCleanup(t *testing.T) {
	before := Login("c")
	t.Cleanup(before.Close)
	leakcheck.ExpectCollected(t, before, "closed before")
	after := Login("d")
	leakcheck.ExpectCollected(t, after, "closed after")
	t.Cleanup(func() { after.Close() })
	before.Logout()
	after.Logout()
	t.Run("sub", func(t *testing.T) {
		s := Login("e")
		leakcheck.ExpectCollected(t, s, "of a subtest")
		t.Cleanup(s.Close)
		s.Logout()
	})
}

var pool sync.Pool

func TestHealthyPool(t *testing.T) {
	s := Login("f")
	s.Logout()
	leakcheck.ExpectCollected(t, s, "pooled")
	pool.Put(s)
}

func TestHealthyFinalizer(t *testing.T) {
	s := Login("g")
	s.Logout()
	runtime.SetFinalizer(s, (*Session).Close)
	leakcheck.ExpectCollected(t, s, "finalized")
}

func TestHealthyLate(t *testing.T) {
	s := Login("h")
	s.Logout()
	leakcheck.ExpectCollected(t, s, "used for a while")
	go func() {
		time.Sleep(200 * time.Millisecond)
		s.Close()
		runtime.KeepAlive(s)
	}()
}

// Small values without pointers share blocks.
func TestHealthySmall(t *testing.T) {
	keep := make([]*int32, 100)
	for i := range keep {
		keep[i] = new(int32)
		leakcheck.ExpectCollected(t, new(int32), "dropped")
	}
	t.Cleanup(func() { runtime.KeepAlive(keep) })
}

func TestSkipped(t *testing.T) {
	leakcheck.ExpectCollected(t, Login("i"), "never")
	t.SkipNow()
}

func TestLeakMaps(t *testing.T) {
	s := Login("j")
	leakcheck.ExpectCollected(t, s, "logged out")
	s.remember()
}

func TestLeakList(t *testing.T) {
	s := Login("k")
	s.Logout()
	leakcheck.ExpectCollected(t, s, "logged out")
	s.connect(1204)
	leakcheck.ExpectCollected(t, srv.conns, "disconnected")
}

func TestLeakGoroutine(t *testing.T) {
	s := Login("l")
	s.Logout()
	leakcheck.ExpectCollected(t, s, "logged out")
	s.watch()
}

func TestLeakOwn(t *testing.T) {
	s := Login("m")
	s.Logout()
	leakcheck.AssertCollected(t, weak.Make(s), "logged out")
	runtime.KeepAlive(s)
}

func TestLeakCleanup(t *testing.T) {
	s := Login("n")
	s.Logout()
	t.Cleanup(s.Close)
	leakcheck.AssertCollected(t, weak.Make(s), "logged out")
}

func TestLeakGlobal(t *testing.T) {
	leakcheck.ExpectCollected(t, &srv, "")
}

func TestLeakSmall(t *testing.T) {
	n := new(int32)
	leakcheck.ExpectCollected(t, n, "small")
	kept = n
}

var kept any

func TestMisuse(t *testing.T) {
	leakcheck.ExpectCollected[Session](t, nil, "")
	leakcheck.ExpectCollected(t, &struct{}{}, "")
	leakcheck.AssertCollected(t, weak.Pointer[Session]{}, "")
}

// Run with -memprofilerate=1, so that all allocations are recorded.
func TestLeakAllocated(t *testing.T) {
	for range 3 {
		Login("o" + t.Name()).remember()
	}
	Login("p").remember()
	leakcheck.AssertRetained(t, leakcheck.Path("collected.srv.sessions[*]").None())
}

type request struct{ ctx context.Context }

var requests []*request

// What hangs on a context that is done is no reason to look below it.
func TestLeakSuspect(t *testing.T) {
	s := Login("q")
	s.Logout()
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), "session", s))
	requests = append(requests, &request{ctx})
	cancel()
	leakcheck.ExpectCollected(t, s, "request over")
}
