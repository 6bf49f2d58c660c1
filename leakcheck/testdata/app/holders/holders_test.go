package holders

import (
	"runtime"
	"testing"
	"weak"

	"example.com/app/holders/shop"
	"github.com/leakgate/leakgate/leakcheck"
)

var none = leakcheck.Type[*shop.Session]().None()

// Tests of the first kind end with an assertion that asks nothing: the holder is dead. The comment
// names the variable that the log of the pass has to name.

func TestDeadPointer(t *testing.T) { // store
	store := shop.New()
	store.Serve(1)
	store.Serve(2)
	leakcheck.AssertRetained(t, none)
}

func TestDeadOnce(t *testing.T) { // store
	store := shop.New()
	store.Serve(1)
	leakcheck.AssertRetained(t, none)
}

func TestDeadStruct(t *testing.T) { // store
	var store struct {
		sessions map[int]*shop.Session
		n        int
	}
	store.sessions = make(map[int]*shop.Session)
	for i := range 20 {
		store.sessions[i] = new(shop.Session)
		store.n++
	}
	leakcheck.AssertRetained(t, none)
}

func TestDeadInterface(t *testing.T) { // store
	var store shop.Server = shop.New()
	if testing.Short() {
		store = other{}
	}
	store.Serve(1)
	store.Serve(2)
	leakcheck.AssertRetained(t, none)
}

type other struct{}

func (other) Serve(int) *shop.Session { return nil }
func (other) Close()                  {}

func TestDeadMap(t *testing.T) { // sessions
	sessions := shop.Sessions(100)
	sessions[1] = nil
	leakcheck.AssertRetained(t, none)
}

func TestDeadSlice(t *testing.T) { // sessions
	var sessions []*shop.Session
	for range 100 {
		sessions = append(sessions, new(shop.Session))
	}
	t.Log(len(sessions))
	leakcheck.AssertRetained(t, none)
}

func TestDeadClosure(t *testing.T) { // store
	store := shop.New()
	serve := func(id int) { store.Serve(id) }
	shop.Call(func() { serve(1) })
	serve(2)
	leakcheck.AssertRetained(t, none)
}

func check(t *testing.T) {
	t.Helper()
	leakcheck.AssertRetained(t, none)
}

func TestDeadInCaller(t *testing.T) { // store
	store := shop.New()
	store.Serve(1)
	store.Serve(2)
	check(t)
}

func TestDeadInSubtest(t *testing.T) {
	for _, name := range []string{"One", "Two"} {
		t.Run(name, func(t *testing.T) { // store
			store := shop.New()
			store.Serve(1)
			leakcheck.AssertRetained(t, none)
		})
	}
}

func TestDeadOfParent(t *testing.T) {
	store := shop.New()
	t.Run("Sub", func(t *testing.T) { // store
		store.Serve(1)
		store.Serve(2)
		leakcheck.AssertRetained(t, none)
	})
}

func TestDeadGeneric(t *testing.T) { // pool
	pool := shop.NewPool[shop.Session]()
	pool.Add(new(shop.Session))
	pool.Add(new(shop.Session))
	leakcheck.AssertRetained(t, none)
}

func TestDeadBehindTwo(t *testing.T) { // owner
	owner := shop.NewOwner()
	(*owner).Store.Serve(1)
	(*owner).Store.Serve(2)
	leakcheck.AssertRetained(t, none)
}

func TestDeadNamedType(t *testing.T) { // store
	store := shop.New()
	store.Serve(1)
	store.Serve(2)
	leakcheck.AssertRetained(t, leakcheck.TypeNamed("shop.Session").None())
}

func TestDeadWithMax(t *testing.T) { // store
	store := shop.New()
	store.Serve(1)
	store.Serve(2)
	leakcheck.AssertRetained(t, leakcheck.Type[*shop.Session]().MaxObjects(1))
}

func TestDeadFull(t *testing.T) { // store
	store := shop.New()
	store.Serve(1)
	store.Serve(2)
	leakcheck.AssertRetained(t, none, leakcheck.Full())
}

func TestDeadBesideLiveSession(t *testing.T) { // store
	store := shop.New()
	s := store.Serve(1)
	store.Serve(2)
	leakcheck.AssertRetained(t, leakcheck.Type[*shop.Session]().MaxObjects(3))
	runtime.KeepAlive(s)
}

func TestDeadInLoop(t *testing.T) { // store
	for i := range 2 {
		store := shop.New()
		store.Serve(i)
		store.Serve(i + 1)
		leakcheck.AssertRetained(t, none)
	}
}

func TestDeadCollected(t *testing.T) { // store
	store := shop.New()
	w := weak.Make(store.Serve(1))
	store.Serve(2)
	leakcheck.AssertCollected(t, w, "served")
}

// In tests of the second kind the bound is judged, or nothing else can be meant.

func TestLiveUsed(t *testing.T) {
	store := shop.New()
	store.Serve(1)
	store.Close()
	leakcheck.AssertRetained(t, none)
	store.Serve(2)
}

func TestLiveKept(t *testing.T) {
	store := shop.New()
	store.Serve(1)
	store.Close()
	leakcheck.AssertRetained(t, none)
	runtime.KeepAlive(store)
}

func TestLiveKeptStruct(t *testing.T) {
	var owner shop.Owner
	owner.Store = shop.New()
	owner.Store.Serve(1)
	owner.Store.Close()
	leakcheck.AssertRetained(t, none)
	runtime.KeepAlive(&owner)
}

func TestLiveVariable(t *testing.T) {
	shop.Default = shop.New()
	store := shop.Default
	store.Serve(1)
	store.Close()
	leakcheck.AssertRetained(t, none)
	shop.Default = nil
}

func TestLiveDefer(t *testing.T) {
	store := shop.New()
	defer store.Close()
	store.Serve(1)
	store.Close()
	leakcheck.AssertRetained(t, none)
}

func TestLiveDeferClosure(t *testing.T) {
	store := shop.New()
	defer func() { store.Close() }()
	store.Serve(1)
	store.Close()
	leakcheck.AssertRetained(t, none)
}

func TestLiveCleanup(t *testing.T) {
	store := shop.New()
	t.Cleanup(store.Close)
	store.Serve(1)
	store.Close()
	leakcheck.AssertRetained(t, none)
}

func TestLiveClosure(t *testing.T) {
	store := shop.New()
	serve := func(id int) { store.Serve(id) }
	serve(1)
	store.Close()
	leakcheck.AssertRetained(t, none)
	serve(2)
}

func TestLiveOther(t *testing.T) {
	session := new(shop.Session)
	t.Log(session == nil)
	names := []string{"a", "b"}
	t.Log(names)
	leakcheck.AssertRetained(t, none)
}

func TestLiveDropped(t *testing.T) {
	store := shop.New()
	store.Serve(1)
	store.Serve(2)
	store = nil
	leakcheck.AssertRetained(t, none)
}

func TestLiveLoop(t *testing.T) {
	stores := []*shop.Store{shop.New(), shop.New()}
	for i, store := range stores {
		store.Serve(i)
		store.Close()
		leakcheck.AssertRetained(t, none)
	}
}

func TestLiveHolder(t *testing.T) {
	store := shop.New()
	owner := &shop.Owner{Store: store}
	store.Serve(1)
	store.Close()
	leakcheck.AssertRetained(t, none)
	owner.Store.Serve(1)
}

func TestLiveGoroutine(t *testing.T) {
	store := shop.New()
	stop := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-stop
		store.Close()
	}()
	store.Serve(1)
	store.Close()
	leakcheck.AssertRetained(t, none)
	close(stop)
	<-ended
}

func TestLiveOfParent(t *testing.T) {
	store := shop.New()
	t.Run("Sub", func(t *testing.T) {
		store.Serve(1)
		store.Close()
		leakcheck.AssertRetained(t, none)
	})
	store.Serve(2)
}

func TestLiveLater(t *testing.T) {
	leakcheck.AssertRetained(t, none)
	store := shop.New()
	store.Serve(1)
	store.Serve(2)
}

func TestLiveBlock(t *testing.T) {
	{
		store := shop.New()
		store.Serve(1)
		store.Serve(2)
	}
	leakcheck.AssertRetained(t, none)
}

func TestLiveBlockOfLoop(t *testing.T) {
	for i := range 3 {
		store := shop.New()
		store.Serve(i)
		store.Serve(i + 1)
	}
	leakcheck.AssertRetained(t, none)
}

func TestLiveFunction(t *testing.T) {
	func() {
		store := shop.New()
		store.Serve(1)
		store.Serve(2)
	}()
	leakcheck.AssertRetained(t, none)
}

func TestLiveSlice(t *testing.T) {
	store := shop.New()
	all := []*shop.Session{store.Serve(1), store.Serve(2)}
	t.Log(len(all), all[0] == nil)
	store.Close()
	leakcheck.AssertRetained(t, none)
	runtime.KeepAlive(store)
}

func TestLiveCollected(t *testing.T) {
	store := shop.New()
	w := weak.Make(store.Serve(1))
	store.Close()
	leakcheck.AssertCollected(t, w, "served")
	runtime.KeepAlive(store)
}

func TestLiveRoot(t *testing.T) {
	store := shop.New()
	store.Serve(1)
	leakcheck.AssertRetained(t, leakcheck.Root("shop.Default").None())
}
