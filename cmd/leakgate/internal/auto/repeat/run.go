package repeat

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
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
	r, err := newRunner(j)
	if err != nil {
		t.Fatal(err)
	}
	r.subtests = orders.Subtests
	if orders.Lifetimes {
		r.countLifetimes()
	}
	r.stayWith(orders.Parent)
	j.write(Event{Event: "begin"})
	r.exploreAll(&orders)
	r.holdAll(&orders)
	j.write(Event{Event: "end"})
}

// stayWith ends the process soon after the command was killed, which cannot end it then. A running
// function may clean up first, if that does not take long.
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

// repeatable is a function that can be repeated, how long a call takes, and whether goroutines
// outlast it.
type repeatable struct {
	*registered
	took    time.Duration
	lingers bool
}

// compare orders functions: those that leave nothing running first, and the quickest of them.
func (f repeatable) compare(g repeatable) int {
	if f.lingers != g.lingers {
		if g.lingers {
			return -1
		}
		return 1
	}
	return cmp.Compare(f.took, g.took)
}

// exploreAll calls each function that was not tried out yet, and explores those that can be
// repeated in small groups, the quickest first. The verdict on a group stands whatever a later
// function does, so it does not try out all functions before it explores the first.
func (r *runner) exploreAll(o *Orders) {
	explored := 0
	for rest := o.Functions; len(rest) > 0; {
		var ready []repeatable
		ready, rest = r.tryOut(o, rest)
		slices.SortStableFunc(ready, repeatable.compare)
		for len(ready) > 0 && time.Now().Before(o.End) {
			if explored > 0 && !o.Together && time.Until(o.End) < leastTime {
				return // for these another process has time, or none has
			}
			explored++
			group := ready[:fitting(ready, o.Together)]
			again := r.exploreGroup(o, fmt.Sprintf("%s-%d", o.Label, explored), group)
			ready = slices.Concat(again, ready[len(group):])
		}
	}
}

// tryOut calls functions for tryTime, or all if they are one group. It returns those to repeat, and
// those that are left.
func (r *runner) tryOut(o *Orders, functions []Function) (ready []repeatable, rest []Function) {
	start := time.Now()
	for i, f := range functions {
		if !o.Together && len(ready) > 0 && time.Since(start) > tryTime {
			return ready, functions[i:]
		}
		found := find(f.Name)
		e := Event{Event: "tried", Function: f.Name, Status: Unrunnable}
		switch {
		case found == nil:
		case f.Took > 0:
			ready = append(ready, repeatable{found, f.Took, f.Lingers})
			continue
		case time.Now().After(o.ProbeEnd):
			e.Status = OutOfTime
		default:
			e.Status, e.Took, e.Lingers = r.try(found, f.Limit, o.End)
			e.Mark = r.calls
			if e.Status == OK {
				ready = append(ready, repeatable{found, e.Took, e.Lingers})
			}
		}
		r.journal.write(e)
	}
	return ready, nil
}

// fitting returns how many of some functions, in their order, are one group.
func fitting(all []repeatable, together bool) int {
	if together {
		return len(all)
	}
	most := maxGroup
	if all[0].lingers {
		most = lingering
	}
	var one time.Duration
	for i, f := range all {
		if one += f.took; i > 0 && (i == most || one > maxRound || f.lingers != all[0].lingers) {
			return i
		}
	}
	return len(all)
}

// exploreGroup explores a group, without the functions that fail when they are repeated. It returns
// functions of the group that have not been explored, since the group takes longer than it did, and
// leaves out those that are slow by themselves.
func (r *runner) exploreGroup(o *Orders, label string, group []repeatable) (again []repeatable) {
	if group[0].lingers { // as a rule something grows, and whether tests end it matters
		r.countLifetimes()
	}
	for failures := 0; len(group) > 0 && time.Now().Before(o.End); {
		result := r.explore(o, label, group)
		switch {
		case result.failed >= 0:
			group = slices.Delete(slices.Clone(group), result.failed, result.failed+1)
			if failures++; failures == maxFailures { // tests that depend on time fail together
				half := (len(group) + 1) / 2
				again, group, failures = append(again, group[half:]...), group[:half], 0
			}
		case result.slow:
			kept := make([]repeatable, 0, len(group))
			for _, f := range group {
				if f.took > maxRound && len(group) > 1 {
					r.journal.write(Event{Event: "tried", Function: f.label(), Status: Left, Took: f.took})
				} else {
					kept = append(kept, f)
				}
			}
			if len(kept) == len(group) {
				half := (len(group) + 1) / 2
				again, kept = append(again, kept[half:]...), kept[:half]
			}
			group = kept
		default:
			return again
		}
	}
	return again
}

// try calls a function twice, unless once is enough. It returns how long the last call took, and
// whether goroutines outlast it.
func (r *runner) try(f *registered, limit time.Duration, end time.Time) (status Status, took time.Duration, lingers bool) {
	watch := r.watch(func() string { return f.label() }, limit)
	defer watch.Stop()
	start := time.Now()
	ok, skipped := r.callOnce(f)
	took = time.Since(start)
	switch {
	case !ok:
		return Fails, took, false
	case skipped:
		return Skips, took, false
	}
	watch.Reset(limit)
	before := runtime.NumGoroutine()
	start = time.Now()
	ok = r.call(f)
	took = max(time.Since(start), 1)
	switch {
	case !ok:
		return Once, took, false
	case took*leastCalls > time.Until(end):
		return Slow, took, false
	}
	for range 5 { // one that is about to end does so
		if lingers = runtime.NumGoroutine() > before; !lingers {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return OK, took, lingers
}

// A result is how an exploration ended before it was done.
type result struct {
	failed int  // index of the function that failed; -1: none did
	slow   bool // a call of all functions takes too long; their times are new
}

// explore repeats a group of functions under AssertNoGrowth, which leaves a record.
func (r *runner) explore(o *Orders, label string, group []repeatable) result {
	names := make([]string, len(group))
	for i, f := range group {
		names[i] = f.label()
	}
	r.journal.write(Event{Event: "explore", Functions: names, Label: label})
	s := &subject{name: label, end: o.End}
	done := Event{Event: "explored", Label: label}
	failed := -1
	var current atomic.Pointer[string]
	current.Store(&names[0])
	watch := r.watch(func() string { return *current.Load() }, o.Hangs)
	defer watch.Stop()
	op := func() {
		done.Calls++
		for i := range group {
			f := &group[i]
			current.Store(&names[i])
			watch.Reset(o.Hangs + 10*f.took)
			start := time.Now()
			if !r.call(f.registered) {
				failed, s.failed, done.Function, done.Mark = i, true, names[i], r.calls
				break
			}
			f.took = max(time.Since(start), 1)
		}
		// A snapshot follows the last call of a batch; a snapshot of a large heap takes time.
		watch.Reset(time.Until(o.End) + o.Hangs)
	}
	// Measure how long the group takes at present: the machine may be busier than before.
	var one time.Duration
	rounds := 2
	for i := 0; i < rounds; i++ {
		if op(); s.failed {
			r.journal.write(done)
			return result{failed: failed}
		}
		if one = sum(group); one > slow {
			rounds = 1
		}
	}
	if !o.Together && len(group) > 1 && one > 2*maxRound {
		return result{failed: -1, slow: true}
	}
	batch, warmup := batches(one)
	batch = max(1, min(batch, int(time.Until(o.End)/(groupCalls*one))))
	warmup = min(warmup, batch)
	if err := os.Setenv(envvar.Artifacts.Name(), o.Artifacts); err != nil {
		panic(err)
	}
	handedOut, calls := lifetimes(), done.Calls
	leakcheck.AssertNoGrowth(s, op, leakcheck.Iterations(batch), leakcheck.Warmup(warmup))
	done.Log = s.log
	if r.counts {
		done.Lifetimes = lifetimesSince(handedOut, done.Calls-calls)
	}
	if err := os.Unsetenv(envvar.Artifacts.Name()); err != nil {
		panic(err)
	}
	r.journal.write(done)
	if f := group[0]; failed < 0 && len(group) == 1 && f.call == nil && f.only == "" && o.Subtests == "" && len(s.log) > 0 {
		watch.Reset(o.Hangs + 10*f.took)
		if names := r.findSubtests(f.registered); len(names) > 1 {
			r.journal.write(Event{Event: "subtests", Function: f.name, Functions: names})
		}
	}
	return result{failed: failed}
}

func sum(group []repeatable) time.Duration {
	var all time.Duration
	for _, f := range group {
		all += f.took
	}
	return max(all, 1)
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
