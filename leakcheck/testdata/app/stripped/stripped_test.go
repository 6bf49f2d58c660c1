// Package stripped is for a run without debug information, and with nothing to make it.
package stripped

import (
	"testing"

	"example.com/app"
	"github.com/leakgate/leakgate/leakcheck"
)

type record struct{ next *record }

var records map[string]*record

// TestType would pass: there is no record.
func TestType(t *testing.T) {
	leakcheck.AssertRetained(t, leakcheck.Type[*record]().None())
}

// TestHeld would fail.
func TestHeld(t *testing.T) {
	records = map[string]*record{"a": {}}
	defer clear(records)
	leakcheck.AssertRetained(t, leakcheck.TypeNamed("stripped.record").None())
}

func TestRoot(t *testing.T) {
	leakcheck.AssertRetained(t, leakcheck.Root("stripped.records").None())
}

func TestGoroutines(t *testing.T) {
	leakcheck.AssertRetained(t, leakcheck.Goroutines("app.**").Max(0))
}

func TestGolden(t *testing.T) {
	app.Login("someone")
	leakcheck.AssertRetained(t)
}

func TestGrowth(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() { app.Login("someone").Logout() })
}
