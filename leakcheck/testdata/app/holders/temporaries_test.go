package holders

import (
	"runtime"
	"testing"

	"example.com/app/holders/shop"
	"github.com/leakgate/leakgate/leakcheck"
)

// quiet is a test that an assertion may fail.
type quiet struct{ *testing.T }

func (q quiet) Errorf(format string, args ...any) { q.Logf("FAILED "+format, args...) }

// leaks fails the test if the bound does not see the sessions that the caller's frame holds, in no
// variable that has a place there.
func leaks(t *testing.T) {
	t.Helper()
	if leakcheck.AssertRetained(quiet{t}, none) {
		t.Error("the bound holds")
	}
}

func TestHeldDefer(t *testing.T) {
	store := shop.New()
	defer store.Close()
	store.Serve(1)
	leaks(t)
}

func TestHeldDeferClosure(t *testing.T) {
	store := shop.New()
	defer func() { store.Close() }()
	store.Serve(1)
	leaks(t)
}

func TestHeldDeferInLoop(t *testing.T) {
	for range 2 {
		store := shop.New()
		defer store.Close()
		store.Serve(1)
	}
	leaks(t)
}

func TestHeldRange(t *testing.T) {
	stores := []*shop.Store{shop.New(), shop.New()}
	for i, store := range stores {
		store.Serve(i)
		leaks(t)
	}
}

func TestHeldOwner(t *testing.T) {
	store := shop.New()
	owner := &shop.Owner{Store: store}
	store.Serve(1)
	leaks(t)
	owner.Store.Serve(1)
}

func TestHeldSmallMap(t *testing.T) {
	m := map[int]*shop.Session{1: shop.New().Serve(1), 2: shop.New().Serve(2)}
	leaks(t)
	t.Log(len(m))
}

func TestHeldSmallMapKept(t *testing.T) {
	m := map[string]*shop.Session{"one": shop.New().Serve(1)}
	leaks(t)
	runtime.KeepAlive(m)
}

func TestHeldSmallMapMade(t *testing.T) {
	m := make(map[string]*shop.Session)
	m["a"] = shop.New().Serve(1)
	leaks(t)
	t.Log(len(m))
}

func TestHeldStruct(t *testing.T) {
	var s struct{ all map[int]*shop.Session }
	s.all = make(map[int]*shop.Session)
	s.all[1] = shop.New().Serve(1)
	leaks(t)
	t.Log(len(s.all))
}

func TestHeldRangeMap(t *testing.T) {
	for k, x := range map[int]*shop.Session{1: shop.New().Serve(1), 2: shop.New().Serve(2)} {
		leaks(t)
		t.Log(x == nil, k)
	}
}

func TestHeldSlice(t *testing.T) {
	s := []*shop.Session{shop.New().Serve(1), shop.New().Serve(2)}
	leaks(t)
	for i := range s {
		t.Log(s[i] == nil)
	}
}

func TestHeldRangeSlice(t *testing.T) {
	for _, x := range []*shop.Session{shop.New().Serve(1), shop.New().Serve(2)} {
		leaks(t)
		t.Log(x == nil)
	}
}

func TestHeldMethodValue(t *testing.T) {
	store := shop.New()
	serve := store.Serve
	serve(1)
	leaks(t)
	serve(2)
}

func TestHeldInterface(t *testing.T) {
	var s shop.Server = shop.New()
	s.Serve(1)
	leaks(t)
	s.Serve(2)
}

// A ticket looks like a session to the collector.
type ticket struct {
	n    int
	text [40]byte
	next *ticket
}

//go:noinline
func newTicket() *ticket { return &ticket{n: 1} }

//go:noinline
func (t *ticket) end() { t.n = 0 }

// What looks like a session and is none does not count.

func TestLiveTicketDefer(t *testing.T) {
	s := shop.New().Serve(1)
	t.Log(s == nil)
	defer newTicket().end()
	leakcheck.AssertRetained(t, none)
}

func TestLiveTicketDeferInLoop(t *testing.T) {
	for range 2 {
		s := shop.New().Serve(1)
		t.Log(s == nil)
		defer newTicket().end()
	}
	leakcheck.AssertRetained(t, none)
}

func TestLiveTicketMap(t *testing.T) {
	s := shop.New().Serve(1)
	t.Log(s == nil)
	m := map[int]*ticket{1: newTicket()}
	leakcheck.AssertRetained(t, none)
	t.Log(len(m))
}

func TestLiveTicketRange(t *testing.T) {
	s := shop.New().Serve(1)
	t.Log(s == nil)
	for _, x := range []*ticket{newTicket(), newTicket()} {
		leakcheck.AssertRetained(t, none)
		x.end()
	}
}

func TestLiveTicketValue(t *testing.T) {
	s := shop.New().Serve(1)
	t.Log(s == nil)
	end := newTicket().end
	leakcheck.AssertRetained(t, none)
	end()
}

func TestLiveTicketInterface(t *testing.T) {
	s := shop.New().Serve(1)
	t.Log(s == nil)
	var e interface{ end() } = newTicket()
	leakcheck.AssertRetained(t, none)
	e.end()
}

func TestLiveTicketPanic(t *testing.T) {
	s := shop.New().Serve(1)
	t.Log(s == nil)
	defer func() {
		leakcheck.AssertRetained(t, none)
		_ = recover()
	}()
	panic(newTicket())
}
