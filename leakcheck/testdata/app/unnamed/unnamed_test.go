// Package unnamed is for a run without debug information: with neither toolchain nor sources at hand.
package unnamed

import (
	"testing"

	"example.com/app"
	"github.com/leakgate/leakgate/leakcheck"
)

// A record has a size and pointers that no other type here has.
type record struct {
	a, b   *record
	x      int
	c      *int
	y      [3]int
	d      *int
	labels map[string]string
}

var (
	records  map[string]*record
	held     any
	anything []any
	table    *[100]*record
)

func reset() { records, held, anything, table = nil, nil, nil, nil }

func TestNone(t *testing.T) {
	defer reset()
	records = map[string]*record{"a": {}}
	delete(records, "a")
	leakcheck.AssertRetained(t, leakcheck.Type[*record]().None())
	leakcheck.AssertRetained(t, leakcheck.Type[*[100]*record]().None())
}

func TestHeldByInterface(t *testing.T) {
	defer reset()
	held = &record{a: &record{}}
	leakcheck.AssertRetained(t, leakcheck.Type[record]().MaxObjects(2))
	leakcheck.AssertRetained(t, leakcheck.Type[record]().MaxObjects(1))
}

func TestHeldByTable(t *testing.T) {
	defer reset()
	table = new([100]*record)
	for i := range table {
		table[i] = &record{}
	}
	leakcheck.AssertRetained(t, leakcheck.Type[record]().MaxObjects(100), leakcheck.Type[record]().MaxBytes(100*96))
	leakcheck.AssertRetained(t, leakcheck.TypeNamed("unnamed.record").MaxObjects(99))
}

// TestDoubt: nothing says what the values of a small map are.
func TestDoubt(t *testing.T) {
	defer reset()
	records = map[string]*record{"a": {}, "b": {}, "c": {}}
	leakcheck.AssertRetained(t, leakcheck.Type[record]().MaxObjects(3))
	leakcheck.AssertRetained(t, leakcheck.Type[record]().None())
}

func TestDoubtOfNames(t *testing.T) {
	leakcheck.AssertRetained(t, leakcheck.TypeNamed("unnamed.record").None())
}

func TestDoubtOfMaps(t *testing.T) {
	leakcheck.AssertRetained(t, leakcheck.Type[map[string]*record]().None())
}

func TestRoot(t *testing.T) {
	leakcheck.AssertRetained(t, leakcheck.Root("unnamed.records").None(), leakcheck.Type[record]().None())
}

func TestScope(t *testing.T) {
	leakcheck.AssertRetained(t, leakcheck.Type[record]().None(), leakcheck.Scope("example.com/app/..."))
}

func TestGolden(t *testing.T) {
	app.Login("someone")
	leakcheck.AssertRetained(t)
}

func TestGrowth(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() { app.Login("someone").Logout() })
}
