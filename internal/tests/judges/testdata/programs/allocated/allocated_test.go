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
		"16 B, 1.00 allocs/op of string at:\n       example.com/seeds/allocated.(*Airport).String (allocated.go:47)\n       example.com/seeds/allocated.Each (allocated.go:125)",
		"and more, which a profile shows",
	} {
		if !strings.Contains(r.failed, want) {
			t.Errorf("no %q in\n%s", want, r.failed)
		}
	}
}

// A recorder is a test whose failure is no failure of this one.
type recorder struct{ failed string }

func (r *recorder) Helper() {}

func (r *recorder) Logf(string, ...any) {}

func (r *recorder) Errorf(format string, args ...any) { r.failed += fmt.Sprintf(format, args...) }
