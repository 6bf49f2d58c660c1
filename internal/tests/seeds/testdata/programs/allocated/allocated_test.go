package allocated

import (
	"fmt"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/leakcheck"
)

// TestEach is what is measured from outside.
func TestEach(t *testing.T) {
	for range 100 {
		Each()
	}
}

// TestBound bounds the pointers to strings: there are as many as calls of the methods, and no more.
func TestBound(t *testing.T) {
	leakcheck.AssertAllocs(t, Each, leakcheck.Type[*string]().MaxAllocsPerOp(36), leakcheck.AllAllocs().MaxAllocsPerOp(72))
	var r recorder
	if leakcheck.AssertAllocs(&r, Each, leakcheck.Type[*string]().MaxAllocsPerOp(35)) {
		t.Fatal("a bound holds that is too low")
	}
	for _, want := range []string{
		"Type[*string](): 36.00 allocs/op (576 B/op), at most 35 allowed",
		"16 B, 12.00 allocs/op of string at:\n       example.com/seeds/allocated.join (allocated.go:22)\n       example.com/seeds/allocated.Street.String (allocated.go:16)",
	} {
		if !strings.Contains(r.failed, want) {
			t.Errorf("no %q in\n%s", want, r.failed)
		}
	}
	if n := strings.Count(r.failed, " of string at:"); n != 3 {
		t.Errorf("%d places, and not those of three methods:\n%s", n, r.failed)
	}
}

// A recorder is a test whose failure is no failure of this one.
type recorder struct{ failed string }

func (r *recorder) Helper() {}

func (r *recorder) Logf(string, ...any) {}

func (r *recorder) Errorf(format string, args ...any) { r.failed += fmt.Sprintf(format, args...) }
