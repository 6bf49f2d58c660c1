package a // want `the golden file testdata/leakcheck/TestSub/gone.golden belongs to no test \(there is no TestSub in its package\): leakgate golden prune removes it`

import (
	"testing"
	"weak"

	"github.com/leakgate/leakgate/leakcheck"
)

func TestNames(t *testing.T) {
	leakcheck.AssertRetained(t,
		leakcheck.Root("a.sessions").None(),
		leakcheck.Root("a.Serve.buf").None(),
		leakcheck.Root("a.(*Session).Close.s").None(),
		leakcheck.Root("a.Session.Close").None(),
		leakcheck.Root("a.glob..func1").None(),
		leakcheck.Root("a.sess*").None(),
		leakcheck.Root("elsewhere.sesions").None(),
		leakcheck.Path("a.sessions[*].peer").None(),
		leakcheck.Root("sync.once").None(),      // want `there is no variable or function "once" in sync, so Root\("sync.once"\) fails its test`
		leakcheck.Root("a.sesions").None(),      // want `there is no variable or function "sesions" in a, so Root\("a.sesions"\) fails its test; did you mean "sessions"\?`
		leakcheck.Path("a.sesions[*]").None(),   // want `did you mean "sessions"\?`
		leakcheck.Root("a.unrelated").None(),    // want `there is no variable or function "unrelated" in a, so Root\("a.unrelated"\) fails its test$`
		leakcheck.TypeNamed("*a.Sesion").None(), // want `there is no type "Sesion" in a, .* did you mean "Session"\?`
		leakcheck.TypeNamed("a.Session").None(),
		leakcheck.TypeNamed("map[string]*a.Sesion").None(),
	)
}

func TestParallel(t *testing.T) {
	t.Parallel()
	b := leakcheck.TakeBaseline(t)
	opts := []leakcheck.Option{leakcheck.Scope("a")}
	leakcheck.AssertRetained(t, leakcheck.Golden("named"))                                                    // want `AssertRetained in a parallel test`
	leakcheck.AssertRetained(t, leakcheck.Type[*Session]().None())                                            // want `AssertRetained in a parallel test`
	leakcheck.AssertRetained(t, leakcheck.Root("a.sessions").None(), leakcheck.TypeNamed("a.Session").None()) // want `AssertRetained in a parallel test`
	leakcheck.AssertRetained(t, leakcheck.Root("a.sessions").MaxObjects(1), leakcheck.Ignore("a.once", "small"))
	leakcheck.AssertRetained(t, leakcheck.Type[*Session]().None(), leakcheck.Since(b))
	leakcheck.AssertRetained(t, leakcheck.Scope("a"))
	leakcheck.AssertRetained(t, opts...)
	t.Run("sub", func(t *testing.T) {
		leakcheck.AssertRetained(t) // want `AssertRetained in a parallel test`
	})
}

func TestGrowsInParallel(t *testing.T) {
	t.Parallel()
	leakcheck.AssertNoGrowth(t, func() {})                          // want `AssertNoGrowth in a parallel test`
	leakcheck.AssertNoGrowth(t, func() {}, leakcheck.Iterations(2)) // want `AssertNoGrowth in a parallel test`
	leakcheck.AssertNoGrowth(t, func() {}, leakcheck.Scope("a"))
	leakcheck.AssertPeak(t, func() {}) // want `AssertPeak in a parallel test`
}

func TestOnlySubIsParallel(t *testing.T) {
	t.Run("sub", func(t *testing.T) {
		t.Parallel()
		leakcheck.AssertRetained(t) // want `AssertRetained in a parallel test`
	})
	leakcheck.AssertRetained(t) // want `there is no golden file testdata/leakcheck/TestOnlySubIsParallel.golden to compare with: make it with leakgate run -update, and commit it`
}

func TestThere(t *testing.T) {
	leakcheck.AssertRetained(t)
	leakcheck.AssertRetained(t, leakcheck.Scope("a"))
}

func TestNamed(t *testing.T)   { leakcheck.AssertRetained(t, leakcheck.Golden("named")) }
func TestMissing(t *testing.T) { leakcheck.AssertRetained(t, leakcheck.Golden("missing")) } // want `there is no golden file testdata/leakcheck/missing.golden`

func TestCollected(t *testing.T) {
	s, other := new(Session), new(Session)
	w := weak.Make(s)
	leakcheck.AssertCollected(t, w, "closed") // want `s cannot be garbage here: the test uses it in line \d+`
	leakcheck.AssertCollected(t, weak.Make(other), "dropped")
	Serve(nil)
	_ = s
	other = new(Session)
	_ = other
}

func TestDeferred(t *testing.T) {
	s := new(Session)
	defer func() { s.peer = nil }()
	leakcheck.AssertCollected(t, weak.Make(s), "closed") // want `s cannot be garbage here`
}

func TestExpected(t *testing.T) {
	outer := new(Session)
	leakcheck.ExpectCollected(t, outer, "closed below")
	outer.peer = nil
	t.Run("sub", func(t *testing.T) {
		inner := new(Session)
		leakcheck.ExpectCollected(t, inner, "closed below")
		leakcheck.ExpectCollected(t, outer, "closed") // want `outer cannot be garbage when the subtest ends: the test uses it in line \d+`
		inner.peer = nil
	})
	_ = outer
}
