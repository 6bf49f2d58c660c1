package leakcheck_test

import (
	"fmt"
	"testing"
	"weak"

	"github.com/leakgate/leakgate/leakcheck"
)

type session struct{ user string }

var sessions = map[string]*session{}

func login(user string)  { sessions[user] = &session{user} }
func logout(user string) { delete(sessions, user) }

// One line a root or type bounds what stays after the work is done.
func ExampleAssertRetained() {
	_ = func(t *testing.T) {
		for i := range 100 {
			user := fmt.Sprint(i)
			login(user)
			logout(user)
		}
		leakcheck.AssertRetained(t,
			// the map itself, nothing in it
			leakcheck.Root("leakcheck_test.sessions").MaxObjects(1),
			leakcheck.Type[*session]().None(),
		)
	}
}

// Without a bound, the golden file of the test bounds what stays.
func ExampleAssertRetained_golden() {
	_ = func(t *testing.T) {
		login("someone")
		leakcheck.AssertRetained(t, leakcheck.Ignore("leakcheck_test.debug", "only filled with -v"))
	}
}

// Only memory that is new since the baseline counts.
func ExampleSince() {
	_ = func(t *testing.T) {
		before := leakcheck.TakeBaseline(t)
		login("someone")
		leakcheck.AssertRetained(t, leakcheck.Type[session]().MaxObjects(1), leakcheck.Since(before))
	}
}

// A bound may limit objects, bytes, or both.
func ExampleBound() {
	fmt.Println(leakcheck.Path("app.srv.conns[*].buf").MaxObjects(10).MaxBytes(64 << 10))
	fmt.Println(leakcheck.Type[*session]().None())
	// Output:
	// Path("app.srv.conns[*].buf").MaxObjects(10).MaxBytes(65536)
	// Type[*leakcheck_test.session]().None()
}

// An object that must be gone when the test ends.
func ExampleExpectCollected() {
	_ = func(t *testing.T) {
		login("someone")
		leakcheck.ExpectCollected(t, sessions["someone"], "logged out")
		logout("someone")
	}
}

// An object that must be gone at the call.
func ExampleAssertCollected() {
	_ = func(t *testing.T) {
		login("someone")
		gone := weak.Make(sessions["someone"])
		logout("someone")
		leakcheck.AssertCollected(t, gone, "logged out")
	}
}
