package workers

import (
	"testing"
	"time"

	"github.com/leakgate/leakgate/leakcheck"
)

// quiet is a test that an assertion may fail.
type quiet struct{ *testing.T }

func (q quiet) Errorf(format string, args ...any) { q.Logf("FAILED "+format, args...) }

func fails(t *testing.T, opts ...leakcheck.Option) {
	t.Helper()
	if leakcheck.AssertRetained(quiet{t}, opts...) {
		t.Errorf("%v hold", opts)
	}
}

func TestHold(t *testing.T) {
	p := New(3)
	defer p.Close()
	leakcheck.AssertRetained(t,
		leakcheck.Goroutines("workers.New").Max(3),
		leakcheck.Goroutines("workers.(*Pool).work").Max(3),
		leakcheck.Goroutines("app/workers.**").NoneLeaked(),
		leakcheck.Goroutines("workers.Query").None(),
		leakcheck.Stack("workers.(*Pool).handle").MaxBytes(10<<10),
		leakcheck.Stack("workers.(*Pool).work").MaxBytes(10<<10),
		leakcheck.Root("workers.New").MaxObjects(100),
	)
}

func TestAlone(t *testing.T) {
	p := New(3)
	defer p.Close()
	leakcheck.AssertRetained(t, leakcheck.Goroutines("workers.New").Max(3), leakcheck.Stack("workers.**").MaxBytes(10<<10))
}

func TestEnding(t *testing.T) {
	p := New(3)
	time.AfterFunc(20*time.Millisecond, p.Close)
	leakcheck.AssertRetained(t, leakcheck.Goroutines("workers.New").None())
}

func TestBroken(t *testing.T) {
	p := New(3)
	defer p.Close()
	fails(t, leakcheck.Goroutines("workers.New").Max(2), leakcheck.Stack("workers.(*Pool).work").MaxBytes(100))
}

func TestLeaked(t *testing.T) {
	Query()
	Query()
	fails(t, leakcheck.Goroutines("workers.**").NoneLeaked())
}

func TestSince(t *testing.T) {
	p := New(3)
	defer p.Close()
	before := leakcheck.TakeBaseline(t)
	q := New(2)
	defer q.Close()
	leakcheck.AssertRetained(t, leakcheck.Goroutines("workers.New").Max(2), leakcheck.Since(before))
	fails(t, leakcheck.Goroutines("workers.New").Max(1), leakcheck.Since(before))
}

func TestGolden(t *testing.T) {
	Query()
	Query()
	p := New(3)
	defer p.Close()
	leakcheck.AssertRetained(t, leakcheck.Goroutines("workers.**").Recorded(), leakcheck.Stack("workers.**").Recorded())
}
