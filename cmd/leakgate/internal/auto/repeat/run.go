package repeat

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/envvar"
	"github.com/leakgate/leakgate/leakcheck"
)

// Run is the body of the test that generated code declares. It carries out the orders. Without
// orders it skips the test: somebody runs the binary by hand.
func Run(t *testing.T) {
	file := envvar.Repeat.Value()
	if file == "" {
		t.Skip("this test is for leakgate run -auto")
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var orders Orders
	if err := json.Unmarshal(data, &orders); err != nil {
		t.Fatal(err)
	}
	j, err := openJournal(orders.Journal)
	if err != nil {
		t.Fatal(err)
	}
	// Otherwise package testing would select the functions that this flag names.
	if err := flag.Set("test.run", ""); err != nil {
		t.Fatal(err)
	}
	// Tests must not see leakgate's variables, and their own assertions must leave no records.
	for _, v := range []envvar.Variable{envvar.Repeat, envvar.Artifacts} {
		if err := os.Unsetenv(v.Name()); err != nil {
			t.Fatal(err)
		}
	}
	// The runtime has read its settings when it began.
	if orders.GODEBUG == "" {
		err = os.Unsetenv("GODEBUG")
	} else {
		err = os.Setenv("GODEBUG", orders.GODEBUG)
	}
	if err != nil {
		t.Fatal(err)
	}
	if orders.Lifetimes && beginLifetimes != nil {
		beginLifetimes()
	}
	r, err := newRunner(j)
	if err != nil {
		t.Fatal(err)
	}
	r.subtests = orders.Subtests
	r.stayWith(orders.Parent)
	j.write(Event{Event: "begin"})
	if group := r.tryOut(&orders); len(group) > 0 {
		r.explore(&orders, group)
	}
	r.holdAll(&orders)
	j.write(Event{Event: "end"})
}

// stayWith ends the process soon after the command is gone without having ended it, because it was
// killed. A running function may clean up first, if that does not take long.
func (r *runner) stayWith(parent int) {
	r.parent = parent
	const (
		often = 500 * time.Millisecond
		long  = 10 * time.Second
	)
	var timer *time.Timer
	look := func() {
		switch {
		case !r.isAlone():
			timer.Reset(often)
		case r.parentGone.Swap(true) || !r.calling.Load():
			os.Exit(exitAlone)
		default:
			timer.Reset(long)
		}
	}
	timer = time.AfterFunc(time.Hour, look) // look refers to timer
	timer.Reset(often)
}

// isAlone reports whether the command has ended.
func (r *runner) isAlone() bool { return os.Getppid() != r.parent }

// timed is a function that can be repeated, and how long a call takes.
type timed struct {
	*registered
	took time.Duration
}

// tryOut calls the functions that have not been tried out yet, and returns those to repeat: the
// quickest first, as many as fit into a group.
func (r *runner) tryOut(o *Orders) []timed {
	var group []timed
	for _, f := range o.Functions {
		found := find(f.Name)
		e := Event{Event: "tried", Function: f.Name, Status: Unrunnable}
		switch {
		case found == nil:
		case f.Took > 0:
			group = append(group, timed{found, f.Took})
			continue
		case time.Now().After(o.ProbeEnd):
			e.Status = OutOfTime
		default:
			e.Status, e.Took = r.try(found, f.Limit, o.End)
			e.Mark = r.calls
		}
		if e.Status == OK {
			group = append(group, timed{found, e.Took})
		}
		r.journal.write(e)
	}
	slices.SortStableFunc(group, func(a, b timed) int { return cmp.Compare(a.took, b.took) })
	var all time.Duration
	most := min(maxGroup, time.Until(o.End)/groupCalls)
	for i, f := range group {
		if all += f.took; all > most && i > 0 {
			for _, left := range group[i:] {
				r.journal.write(Event{Event: "tried", Function: left.label(), Status: Left, Took: left.took})
			}
			return group[:i]
		}
	}
	return group
}

// try calls a function three times, or fewer times where that is enough or takes long, and returns
// how long the last call took.
func (r *runner) try(f *registered, limit time.Duration, end time.Time) (Status, time.Duration) {
	watch := r.watch(func() string { return f.label() }, limit)
	defer watch.Stop()
	start := time.Now()
	ok, skipped := r.callOnce(f)
	took := time.Since(start)
	switch {
	case !ok:
		return Fails, took
	case skipped:
		return Skips, took
	}
	for range 2 {
		watch.Reset(limit)
		start := time.Now()
		ok := r.call(f)
		took = max(time.Since(start), 1)
		switch {
		case !ok:
			return Once, took
		case took*leastCalls > time.Until(end):
			return Slow, took
		case took > slow:
			return OK, took
		}
	}
	return OK, took
}

// explore repeats a group of functions under AssertNoGrowth, which leaves a record.
func (r *runner) explore(o *Orders, group []timed) {
	var names []string
	for _, f := range group {
		names = append(names, f.label())
	}
	one := sum(group)
	r.journal.write(Event{Event: "explore", Functions: names})
	s := &subject{name: o.Label, end: o.End}
	done := Event{Event: "explored"}
	var current atomic.Pointer[string]
	current.Store(&names[0])
	watch := r.watch(func() string { return *current.Load() }, o.Hangs)
	defer watch.Stop()
	op := func() {
		done.Calls++
		for i, f := range group {
			current.Store(&names[i])
			watch.Reset(o.Hangs + 10*f.took)
			if !r.call(f.registered) {
				s.failed, done.Function, done.Mark = true, names[i], r.calls
				break
			}
		}
		// A snapshot follows the last call of a batch; a snapshot of a large heap takes time.
		watch.Reset(time.Until(o.End) + o.Hangs)
	}
	watch.Reset(time.Until(o.End) + o.Hangs)
	// Measure how long the group takes at present: the machine may be busier than before.
	rounds := 2
	if one > slow {
		rounds = 1
	}
	for range rounds {
		start := time.Now()
		if op(); s.failed {
			r.journal.write(done)
			return
		}
		one = max(one, time.Since(start))
	}
	if n := fitting(group, one, time.Until(o.End)/groupCalls); n < len(group) {
		for _, left := range group[n:] {
			r.journal.write(Event{Event: "tried", Function: left.label(), Status: Left, Took: left.took})
		}
		one = one * sum(group[:n]) / sum(group)
		group, names = group[:n], names[:n]
		r.journal.write(Event{Event: "explore", Functions: names})
	}
	batch, warmup := batches(one)
	batch = max(1, min(batch, int(time.Until(o.End)/(groupCalls*one))))
	warmup = min(warmup, batch)
	if err := os.Setenv(envvar.Artifacts.Name(), o.Artifacts); err != nil {
		panic(err)
	}
	handedOut, calls := lifetimes(), done.Calls
	leakcheck.AssertNoGrowth(s, op, leakcheck.Iterations(batch), leakcheck.Warmup(warmup))
	done.Log, done.Lifetimes = s.log, lifetimesSince(handedOut, done.Calls-calls)
	r.journal.write(done)
	if f := group[0]; len(group) == 1 && f.call == nil && f.only == "" && o.Subtests == "" && len(s.log) > 0 {
		watch.Reset(o.Hangs + 10*f.took)
		if names := r.findSubtests(f.registered); len(names) > 1 {
			r.journal.write(Event{Event: "subtests", Function: f.name, Functions: names})
		}
	}
}

func sum(group []timed) time.Duration {
	var all time.Duration
	for _, f := range group {
		all += f.took
	}
	return max(all, 1)
}

// fitting returns how many functions of a group can be called within most, if a call of all of them
// takes one; at least 1.
func fitting(group []timed, one, most time.Duration) int {
	if one <= most {
		return len(group)
	}
	all := sum(group)
	var some time.Duration
	for i, f := range group {
		if some += f.took; float64(some)/float64(all)*float64(one) > float64(most) && i > 0 {
			return i
		}
	}
	return len(group)
}

// batches returns how often a group is called in the first batch, and before it, given how long a
// call takes. That is more often than AssertNoGrowth would: tests fill caches that an operation
// does not.
func batches(took time.Duration) (batch, warmup int) {
	if took > slow {
		return 1, 2
	}
	batch = int(min(100, max(3, 150*time.Millisecond/max(took, 1))))
	return batch, max(2, batch/2)
}

// A subject is the test that AssertNoGrowth fails, in place of the test that runs.
type subject struct {
	name   string
	end    time.Time
	failed bool
	log    []string
}

func (s *subject) Helper()                      {}
func (s *subject) Name() string                 { return s.name }
func (s *subject) Failed() bool                 { return s.failed }
func (s *subject) Skipped() bool                { return false }
func (s *subject) Deadline() (time.Time, bool)  { return s.end, true }
func (s *subject) Errorf(f string, args ...any) { s.Logf(f, args...) }

func (s *subject) Logf(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf(format, args...))
}
