package leakcheck

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/growth"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
)

// slowGrowth runs AssertNoGrowth with an op of the given duration, in a test that times out.
func (w *world) slowGrowth(op, timeout time.Duration, opts ...GrowthOption) (t *fakeT, o *assertion.Outcome, calls int) {
	t = &fakeT{name: "TestLogout", timeout: timeout}
	c := w.Checker
	none := func(func(string) bool) map[goroutine.Origin]goroutine.Pile {
		return map[goroutine.Origin]goroutine.Pile{}
	}
	slow := func() { calls++; w.slept += op }
	a := &assertion.Assertion{Checker: c, T: t, Env: c.Environment(), Req: newGrowthRequest(slow, opts), Test: t.name, Time: c.Budget(t)}
	return t, growth.NewExperiment(a, slow, growth.Source{Goroutines: none}).Judge(), calls
}

func TestBudgetOfGrowth(t *testing.T) {
	leak := []int64{10, 20, 40, 80, 160, 160}
	tests := []struct {
		name    string
		figures []int64
		op      time.Duration
		timeout time.Duration
		opts    []GrowthOption
		verdict verdict.Verdict
		seen    []string // in the message
	}{
		{"no timeout", leak, 20 * time.Second, 0, nil, verdict.Fail, nil},
		{"time enough", leak, 20 * time.Second, time.Hour, nil, verdict.Fail, nil},
		{"smaller batches", leak, 20 * time.Second, 10 * time.Minute, nil, verdict.Fail, nil},
		{"no leak", []int64{10, 10}, 20 * time.Second, 10 * time.Minute, nil, verdict.Pass, nil},
		{
			"some batches", leak, 20 * time.Second, 4 * time.Minute, nil, verdict.Unknown,
			[]string{"times out in", "memory grew with each batch", "go test -timeout", "what grew until then", "app.sessions"},
		},
		{
			"batches as asked for", leak, 20 * time.Second, 10 * time.Minute,
			[]GrowthOption{Warmup(1), Iterations(10)},
			verdict.Unknown,
			[]string{"2 snapshots could be taken", "what grew until then"},
		},
		{"no time for a batch", leak, 20 * time.Second, 50 * time.Second, nil, verdict.Unknown, []string{"op was called 2 times", "1 snapshot "}},
		{"no time at all", leak, 20 * time.Second, 30 * time.Second, nil, verdict.Unknown, []string{"op was called 1 time,", "0 snapshots"}},
	}
	for _, tt := range tests {
		w := newWorld(t, growing(sessions, tt.figures...)...)
		w.looks = 3 * time.Second
		_, o, calls := w.slowGrowth(tt.op, tt.timeout, tt.opts...)
		if o.Verdict != tt.verdict {
			t.Errorf("%s: %s after %d calls\n%s", tt.name, o.Verdict, calls, o.Message)
		}
		if tt.timeout > 0 && w.slept >= tt.timeout {
			t.Errorf("%s: it took %s, longer than the test's timeout", tt.name, w.slept)
		}
		for _, want := range tt.seen {
			if !strings.Contains(o.Message, want) {
				t.Errorf("%s: %q is not in\n%s", tt.name, want, o.Message)
			}
		}
	}
}

// Another batch fills slices only if there is time for it.
func TestBudgetOfSlices(t *testing.T) {
	for timeout, snapshots := range map[time.Duration]int{time.Hour: 3, 2 * time.Minute: 2} {
		w := newWorld(t, growing(roomyJournal, 100, 131, 131)...)
		w.looks = 3 * time.Second
		_, o, calls := w.slowGrowth(20*time.Second, timeout, Warmup(1), Iterations(2))
		if o.Verdict != verdict.Pass || w.snapshots != snapshots {
			t.Errorf("with %s: %s after %d calls and %d snapshots\n%s", timeout, o.Verdict, calls, w.snapshots, o.Message)
		}
	}
}

// An assertion that does not hold is checked again, or its verdict is unknown.
func TestBudgetOfRetries(t *testing.T) {
	assert := func(timeout time.Duration) *assertion.Outcome {
		w := newWorld(t, report(sessions(3)))
		w.looks = 10 * time.Second
		ft := &fakeT{name: "TestLogout", timeout: timeout}
		a := &assertion.Assertion{Checker: w.Checker, T: ft, Env: w.Environment(), Req: newRequest([]Option{Root("app.sessions").None()}), Test: ft.name, Time: w.Budget(ft)}
		o := a.Judge()
		if timeout > 0 && w.slept >= timeout {
			t.Errorf("it took %s of %s", w.slept, timeout)
		}
		return o
	}
	if o := assert(time.Minute); o.Verdict != verdict.Fail {
		t.Errorf("with time enough: %s", o.Verdict)
	}
	o := assert(15 * time.Second)
	if o.Verdict != verdict.Unknown || !strings.Contains(o.Message, "in 1 snapshot the assertion does not hold") {
		t.Errorf("without: %s\n%s", o.Verdict, o.Message)
	}
}

// A program that does not settle in time is not waited for.
func TestBudgetOfSettling(t *testing.T) {
	w := newWorld(t, report(sessions(3)))
	w.Observe = func(ctx context.Context, _ observe.Needs) (*observe.Observation, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ft := &fakeT{name: "TestLogout", timeout: environ.MinReserve + 10*time.Millisecond}
	o := (&assertion.Assertion{Checker: w.Checker, T: ft, Env: w.Environment(), Req: newRequest([]Option{Root("app.sessions").None()}), Time: w.Budget(ft)}).Judge()
	if o.Verdict != verdict.Unknown || !strings.Contains(o.Message, "had not settled") || !errors.Is(o.Err, context.DeadlineExceeded) {
		t.Errorf("%s\n%s", o.Verdict, o.Message)
	}
}
