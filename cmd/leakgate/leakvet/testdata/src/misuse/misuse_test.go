package misuse

import (
	"testing"
	"weak"

	"github.com/leakgate/leakgate/leakcheck"
)

const least = -3

func TestMain(m *testing.M) {
	leakcheck.VerifyTestMain(nil, leakcheck.Scope("misuse")) // want `VerifyTestMain\(nil, ...\) panics: give it the test`
	leakcheck.VerifyTestMain(m, leakcheck.Scope("misuse"))
}

func TestWithoutTest(t *testing.T) {
	leakcheck.AssertRetained(nil, leakcheck.Root("misuse.sessions").None()) // want `AssertRetained\(nil, ...\) panics: give it the test`
	leakcheck.AssertNoGrowth((*testing.T)(nil), func() {})                  // want `AssertNoGrowth\(nil, ...\) panics: give it the test`
	leakcheck.ExpectCollected(nil, new(int), "done")                        // want `ExpectCollected\(nil, ...\) panics`
	leakcheck.AssertCollected(nil, weak.Make(new(int)), "done")             // want `AssertCollected\(nil, ...\) panics`
	leakcheck.TakeBaseline(nil)                                             // want `TakeBaseline\(nil, ...\) panics`
	var helper func(leakcheck.TestingT)
	helper(nil)
	leakcheck.TakeBaseline(t)
}

func TestNothingToDo(t *testing.T) {
	leakcheck.AssertNoGrowth(t, nil)                                // want `AssertNoGrowth fails: op is nil`
	leakcheck.AssertNoGrowth(t, func() {}, leakcheck.Iterations(0)) // want `Iterations\(0\): op must be called at least once, so the assertion fails`
	leakcheck.AssertNoGrowth(t, func() {}, leakcheck.Iterations(1)) // once is enough
}

func TestBounds(t *testing.T) {
	leakcheck.AssertRetained(t, leakcheck.Root("").None())                                                         // want `leakcheck.Root\(""\): the pattern is empty, so the assertion fails`
	leakcheck.AssertRetained(t, leakcheck.TypeNamed("").None(), leakcheck.Since(nil))                              // want `the pattern is empty`
	leakcheck.AssertRetained(t, leakcheck.Goroutines("").None())                                                   // want `the pattern is empty`
	leakcheck.AssertRetained(t, leakcheck.Root("misuse.sessions").MaxObjects(-1))                                  // want `MaxObjects\(-1\): a bound cannot be negative, so the assertion fails`
	leakcheck.AssertRetained(t, leakcheck.Root("misuse.sessions").MaxObjects(0).MaxBytes(least))                   // want `MaxBytes\(-3\): a bound cannot be negative`
	leakcheck.AssertRetained(t, leakcheck.Root("misuse.sessions").MaxObjects(int64(len("four"))))                  // a constant, too
	leakcheck.AssertRetained(t, leakcheck.Scope("misuse", ""), leakcheck.Golden("named"))                          // want `the pattern is empty`
	leakcheck.AssertRetained(t, leakcheck.Root("misuse.sessions").None(), leakcheck.Ignore("misuse.sessions", "")) // want `the reason is empty`
}
