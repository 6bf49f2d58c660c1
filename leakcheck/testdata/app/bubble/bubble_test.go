// Package bubble calls each assertion in a bubble of testing/synctest.
package bubble

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/leakgate/leakgate/leakcheck"
)

type session struct{ _ [100]byte }

var (
	kept    []*session
	keptFor *session
	outside = make(chan struct{}) // what waits for it is blocked by something outside of a bubble
)

// A recorder is a T that failures do not fail.
type recorder struct {
	*testing.T
	errors *strings.Builder
}

func (r recorder) Errorf(format string, args ...any) { fmt.Fprintf(r.errors, format, args...) }

// timeouts starts what the bubble's clock ends: goroutines that end after a while.
func timeouts() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	context.AfterFunc(ctx, func() {})
	go func() {
		time.Sleep(50 * time.Millisecond)
		cancel()
	}()
}

func leak() { kept = append(kept, new(session)) }

var none = leakcheck.Type[*session]().None()

// cases are the bodies of tests, with what the failures of the test contain; "": it passes.
var cases = []struct {
	name    string
	failure string
	body    func(t recorder)
}{
	{"NoGrowth", "", func(t recorder) { leakcheck.AssertNoGrowth(t, timeouts) }},
	{"NoGrowth that sleeps", "", func(t recorder) { leakcheck.AssertNoGrowth(t, func() { time.Sleep(time.Hour) }) }},
	{"NoGrowth of a leak", "session/op", func(t recorder) { leakcheck.AssertNoGrowth(t, leak) }},
	{"NoGrowth of goroutines", "goroutine/op", func(t recorder) {
		leakcheck.AssertNoGrowth(t, func() { go func() { <-outside }() }, leakcheck.Iterations(20))
	}},
	{"NoGrowth of goroutines in the bubble", "goroutine/op", func(t recorder) {
		inside := make(chan struct{})
		defer close(inside)
		leakcheck.AssertNoGrowth(t, func() { go func() { <-inside }() }, leakcheck.Iterations(20))
	}},
	{"Retained", "", func(t recorder) { leakcheck.AssertRetained(t, none) }},
	{"Retained of a leak", "found 1 object", func(t recorder) { leak(); leakcheck.AssertRetained(t, none) }},
	{"Retained until a timer fires", "", func(t recorder) {
		s := new(session)
		go func() { time.Sleep(50 * time.Millisecond); _ = fmt.Sprint(s) }()
		leakcheck.AssertRetained(t, none)
	}},
	{"Goroutines", "", func(t recorder) {
		timeouts()
		leakcheck.AssertRetained(t, leakcheck.Goroutines("bubble.timeouts").None())
	}},
	{"Since", "", func(t recorder) {
		leak()
		leakcheck.AssertRetained(t, none, leakcheck.Since(leakcheck.TakeBaseline(t)))
	}},
	{"Since of a leak", "1 object", func(t recorder) {
		before := leakcheck.TakeBaseline(t)
		leak()
		leakcheck.AssertRetained(t, none, leakcheck.Since(before))
	}},
	{"Find", "", func(t recorder) { t.report(leakcheck.Find(none)) }},
	{"Find of a leak", "found 1 object", func(t recorder) { leak(); t.report(leakcheck.Find(none)) }},
	{"ExpectCollected", "", func(t recorder) { leakcheck.ExpectCollected(t, new(session), "dropped") }},
	{"ExpectCollected of a leak", "bubble.keptFor", func(t recorder) {
		keptFor = new(session)
		leakcheck.ExpectCollected(t, keptFor, "dropped")
	}},
	{"ExpectCollected until a timer fires", "", func(t recorder) {
		s := new(session)
		go func() { time.Sleep(50 * time.Millisecond); _ = fmt.Sprint(s) }()
		leakcheck.ExpectCollected(t, s, "dropped")
	}},
	{"AssertCollected", "", func(t recorder) { leakcheck.AssertCollected(t, weak.Make(new(session)), "dropped") }},
	{"AssertCollected of a leak", "bubble.keptFor", func(t recorder) {
		keptFor = new(session)
		leakcheck.AssertCollected(t, weak.Make(keptFor), "dropped")
	}},
	{"Allocs", "in a bubble of testing/synctest", func(t recorder) {
		leakcheck.AssertAllocs(t, leak, leakcheck.AllAllocs().MaxAllocsPerOp(0))
	}},
	{"Peak", "in a bubble of testing/synctest", func(t recorder) {
		leakcheck.AssertPeak(t, leak, leakcheck.MaxBytes(1<<20))
	}},
}

func (r recorder) report(err error) {
	if err != nil {
		r.Errorf("%v", err)
	}
}

func TestInBubbles(t *testing.T) {
	for _, c := range cases {
		for _, whose := range []string{"inner", "outer"} {
			t.Run(c.name+", "+whose, func(outer *testing.T) {
				outside = make(chan struct{})
				errors := new(strings.Builder)
				outer.Cleanup(func() { // after ExpectCollected's
					kept, keptFor = nil, nil
					if got := errors.String(); (got == "") != (c.failure == "") || !strings.Contains(got, c.failure) {
						t.Errorf("%s, %s: want %q, got\n%s", c.name, whose, c.failure, got)
					}
				})
				synctest.Test(outer, func(inner *testing.T) {
					defer time.Sleep(time.Minute) // a bubble's goroutines have to end
					defer close(outside)
					if whose == "outer" {
						inner = outer
					}
					c.body(recorder{inner, errors})
				})
			})
		}
	}
}

// What cannot be told in a bubble can be told of one.
func TestOfBubbles(t *testing.T) {
	var sink []byte
	op := func() {
		synctest.Test(t, func(*testing.T) {
			timeouts()
			sink = make([]byte, 4<<20)
			time.Sleep(time.Minute)
			sink = nil
		})
	}
	errors := new(strings.Builder)
	r := recorder{t, errors}
	leakcheck.AssertAllocs(r, op, leakcheck.AllAllocs().MaxAllocsPerOp(1000))
	leakcheck.AssertPeak(r, op, leakcheck.MaxBytes(16<<20))
	leakcheck.AssertNoGrowth(r, op)
	if got := errors.String(); got != "" {
		t.Error(got)
	}
	leakcheck.AssertAllocs(r, op, leakcheck.AllAllocs().MaxBytesPerOp(1<<20))
	if got := errors.String(); !strings.Contains(got, "4,194,304 B, 1.00 allocs/op of []uint8") {
		t.Errorf("want a failure by what a bubble allocates, got %q", got)
	}
	_ = sink
}
