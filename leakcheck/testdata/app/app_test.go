package app

import (
	"flag"
	"fmt"
	"testing"

	"github.com/leakgate/leakgate/leakcheck"
)

// Many packages have this flag.
var update = flag.Bool("update", false, "rewrite golden files")

func login(n int) {
	for i := range n {
		Login(fmt.Sprintf("session-number-%d", i))
	}
}

func TestClean(t *testing.T) {
	for range 100 {
		Login("someone").Logout()
	}
	leakcheck.AssertRetained(t, leakcheck.Root("app.sessions").MaxObjects(1), leakcheck.Type[*Session]().None())
}

func TestLeak(t *testing.T) {
	login(100)
	defer clear(sessions)
	leakcheck.AssertRetained(t, leakcheck.Root("app.sessions").MaxObjects(1), leakcheck.Type[Session]().None())
}

func TestOwn(t *testing.T) {
	s := newSession("mine")
	leakcheck.AssertRetained(t, leakcheck.Type[Session]().None())
	s.buf[0]++
}

func TestGoroutine(t *testing.T) {
	p := NewPool()
	p.jobs <- &Session{buf: make([]byte, 100)}
	leakcheck.AssertRetained(t, leakcheck.Path("app.(*Pool).run.held").None())
	p.stop <- true
	if !leakcheck.AssertRetained(t, leakcheck.Type[Session]().None(), leakcheck.Root("app.(*Pool).run").None()) {
		t.Error("the goroutine has ended, but not for leakcheck")
	}
}

func TestSince(t *testing.T) {
	login(5)
	defer clear(sessions)
	before := leakcheck.TakeBaseline(t)
	login(8)
	leakcheck.AssertRetained(t, leakcheck.Type[Session]().MaxObjects(3), leakcheck.Since(before))
	if leakcheck.AssertRetained(discard{t}, leakcheck.Type[Session]().MaxObjects(2), leakcheck.Since(before)) {
		t.Error("three are no more than two")
	}
}

type discard struct{ *testing.T }

func (discard) Errorf(string, ...any) {}

func TestTypo(t *testing.T) {
	leakcheck.AssertRetained(t, leakcheck.Root("app.sesions").None())
}

type handler func()

var handlers []handler

func TestTypoInPath(t *testing.T) {
	leakcheck.AssertRetained(t, leakcheck.Path("app.sessions[*].Bufs").None())
}

func TestTypeOfNoObject(t *testing.T) {
	handlers = append(handlers, func() { login(1) })
	defer clear(handlers)
	leakcheck.AssertRetained(t, leakcheck.TypeNamed("app.handler").None())
}

func TestGolden(t *testing.T) {
	login(100)
	defer clear(sessions)
	leakcheck.AssertRetained(t)
}
