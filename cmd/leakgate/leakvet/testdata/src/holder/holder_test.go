package holder

import (
	"runtime"
	"testing"

	"github.com/leakgate/leakgate/leakcheck"
)

func TestFirst(t *testing.T) {
	store := New()
	store.Login("a")
	leakcheck.AssertRetained(t, leakcheck.Type[*Session]().None()) // want `store is not used after this line: what only it holds is garbage, and the bound on \*Session passes; runtime.KeepAlive\(store\) behind it`
}

func TestValue(t *testing.T) {
	var store Store
	store.all = map[string]*Session{}
	store.Login("a")
	leakcheck.AssertRetained(t, leakcheck.Root("holder.global").None(), leakcheck.Type[Session]().MaxObjects(1)) // want `store is not used after this line`
}

func TestNested(t *testing.T) {
	shop := &Shop{}
	shop.Open()
	leakcheck.AssertRetained(t, leakcheck.Type[*Session]().None()) // want `shop is not used after this line`
}

func TestSubtest(t *testing.T) {
	t.Run("sub", func(t *testing.T) {
		store := New()
		for range 3 {
			store.Login("a")
		}
		leakcheck.AssertRetained(t, leakcheck.Type[*Session]().None()) // want `store is not used after this line`
	})
}

func TestOverwritten(t *testing.T) {
	store := New()
	store.Login("a")
	leakcheck.AssertRetained(t, leakcheck.Type[*Session]().None()) // want `store is not used after this line`
	store = New()
	store.Login("b")
	runtime.KeepAlive(store.all)
}

func TestInLoop(t *testing.T) {
	for range 3 {
		store := New()
		store.Login("a")
		leakcheck.AssertRetained(t, leakcheck.Type[*Session]().None()) // want `store is not used after this line`
	}
}

func TestKept(t *testing.T) {
	store := New()
	store.Login("a")
	leakcheck.AssertRetained(t, leakcheck.Type[*Session]().None())
	runtime.KeepAlive(store)
}

func TestDeferred(t *testing.T) {
	store := New()
	defer store.Login("last")
	leakcheck.AssertRetained(t, leakcheck.Type[*Session]().None())
}

func TestCaptured(t *testing.T) {
	store := New()
	t.Cleanup(func() { store.Login("last") })
	leakcheck.AssertRetained(t, leakcheck.Type[*Session]().None())
}

func TestGivenAway(t *testing.T) {
	store := New()
	Serve(store)
	leakcheck.AssertRetained(t, leakcheck.Type[*Session]().None())
}

func TestOfGoroutine(t *testing.T) {
	store := New()
	go store.Login("a")
	leakcheck.AssertRetained(t, leakcheck.Type[*Session]().None())
}

func TestMethodValue(t *testing.T) {
	store := New()
	login := store.Login
	login("a")
	leakcheck.AssertRetained(t, leakcheck.Type[*Session]().None())
}

func TestWithEnd(t *testing.T) {
	pool := &Pool{}
	pool.Get()
	leakcheck.AssertRetained(t, leakcheck.Type[*Session]().None())
}

func TestLeadsNowhere(t *testing.T) {
	counter := &Counter{}
	counter.Add()
	leakcheck.AssertRetained(t, leakcheck.Type[*Session]().None())
}

// The object itself is meant to be garbage.
func TestItself(t *testing.T) {
	session := &Session{}
	session.next = nil
	leakcheck.AssertRetained(t, leakcheck.Type[*Session]().None())
}

func TestNextIteration(t *testing.T) {
	store := New()
	for range 3 {
		store.Login("a")
		leakcheck.AssertRetained(t, leakcheck.Type[*Session]().None())
	}
}

func TestOtherBounds(t *testing.T) {
	store := New()
	store.Login("a")
	leakcheck.AssertRetained(t, leakcheck.Root("holder.global").None())
}
