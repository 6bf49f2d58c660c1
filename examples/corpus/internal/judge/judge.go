package judge

import (
	"cmp"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/leakcheck"
)

var (
	shard    = flag.Int("corpus.shard", 0, "judge the cases of shard `i`, counted from 0")
	shards   = flag.Int("corpus.shards", 1, "into how many `n` shards the cases are divided")
	defaults = flag.Bool("corpus.defaults", false, "let AssertNoGrowth decide how often to call an operation")
	messages = flag.Bool("corpus.messages", false, "print the message about each leak, and what is logged")
)

// Run judges the cases of a group, one after the other. It prints a line about each program and the
// totals:
//
//	corpus: leak contexts/TimeoutDropped: found, named (0.81s)
//	corpus: fixed contexts/TimeoutDropped: quiet (0.12s)
//	corpus: leaks 124: found 124, named 124; fixed 124: quiet 124; healthy 52: quiet 52; pending 0
func Run(t *testing.T, g Group) {
	var sum totals
	for i, c := range g.Cases {
		if i%*shards == *shard {
			t.Run(c.Name, func(t *testing.T) { sum.add(judge(t, g.Name+"/"+c.Name, c)) })
		}
	}
	fmt.Printf("corpus: %s\n", sum)
}

type totals struct{ leaks, found, named, fixed, quietFixed, healthy, quietHealthy, pending int }

func (s *totals) add(o totals) {
	s.leaks += o.leaks
	s.found += o.found
	s.named += o.named
	s.fixed += o.fixed
	s.quietFixed += o.quietFixed
	s.healthy += o.healthy
	s.quietHealthy += o.quietHealthy
	s.pending += o.pending
}

func (s totals) String() string {
	return fmt.Sprintf("leaks %d: found %d, named %d; fixed %d: quiet %d; healthy %d: quiet %d; pending %d",
		s.leaks, s.found, s.named, s.fixed, s.quietFixed, s.healthy, s.quietHealthy, s.pending)
}

// judge runs the programs of one case.
func judge(t *testing.T, name string, c Case) (sum totals) {
	if c.Leak != nil {
		sum.leaks = 1
		if withRace {
			c.Culprit = cmp.Or(c.CulpritWithRace, c.Culprit)
		}
		r := run(t, "leak", name, c, c.Leak)
		named := r.found() && r.names(c)
		found := r.found()
		if withRace && c.SaysWithRace != "" {
			found = !r.failed && strings.Contains(r.logs, c.SaysWithRace)
			named = found
		}
		sum.found, sum.named = number(found), number(named)
		said := "MISSED"
		switch {
		case named:
			said = "found, named"
		case r.found():
			said = "found, MISNAMED"
		case r.failed:
			said = "COULD NOT TELL"
		}
		sum.pending += r.say(t, "leak", said, named, c.Pending, fmt.Sprintf("want a message whose head matches %q and that says %q", c.Culprit, c.Also))
		twin := run(t, "fixed", name, c, c.Fixed)
		sum.fixed, sum.quietFixed = 1, number(!twin.failed)
		sum.pending += twin.sayQuiet(t, "fixed", c)
	}
	if c.Healthy != nil {
		r := run(t, "healthy", name, c, c.Healthy)
		sum.healthy, sum.quietHealthy = 1, number(!r.failed)
		sum.pending += r.sayQuiet(t, "healthy", c)
	}
	return sum
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A result is what AssertNoGrowth said about a program.
type result struct {
	recorder
	took       time.Duration
	byCounters bool // passed by counters, without a snapshot
}

// run verifies one program by its own measure, and asserts that it does not grow. Each of the two
// sets the program up anew.
func run(t *testing.T, kind, name string, c Case, setup Setup) *result {
	r := &result{recorder: recorder{name: t.Name() + "/" + kind}}
	t.Run(kind, func(t *testing.T) {
		t.Run("measure", func(t *testing.T) { c.Grows.verify(t, setup(t), kind == "leak") })
		t.Run("judge", func(t *testing.T) {
			op := setup(t)
			verbose := flag.Lookup("test.v").Value
			before := verbose.String()
			_ = verbose.Set("true") // the log says in which way it passed
			defer func() { _ = verbose.Set(before) }()
			start := time.Now()
			leakcheck.AssertNoGrowth(r, op, c.options()...)
			r.took = time.Since(start)
			r.byCounters = strings.Contains(r.logs, "passed by counters")
		})
	})
	r.name = name
	return r
}

// options set how often the operation is called: less often than AssertNoGrowth would by itself, so
// that the whole corpus takes little time.
func (c Case) options() []leakcheck.GrowthOption {
	calls := c.Calls
	if calls == 0 {
		calls = min(15, c.Grows.calls)
	}
	if *defaults && c.Calls == 0 && c.Grows.calls >= 15 {
		return nil
	}
	return []leakcheck.GrowthOption{leakcheck.Iterations(calls), leakcheck.Warmup(calls)}
}

func (r *result) sayQuiet(t *testing.T, kind string, c Case) (pending int) {
	said := "quiet"
	switch {
	case r.found():
		said = "FALSE ALARM"
	case r.failed:
		said = "COULD NOT TELL"
	}
	return r.say(t, kind, said, !r.failed, c.PendingTwin, "want no message")
}

// say prints the line about a program, and fails the test if it is not judged as it should be.
func (r *result) say(t *testing.T, kind, said string, right bool, reason, want string) (pending int) {
	mark := ""
	if reason != "" {
		mark, pending = "; pending: "+reason, 1
	}
	way := ""
	if r.byCounters {
		way = ", by counters"
	}
	fmt.Printf("corpus: %s %s: %s (%.2fs%s)%s\n", kind, r.name, said, r.took.Seconds(), way, mark)
	if *messages || !right {
		fmt.Println(strings.TrimSpace(r.message + "\n" + r.logs))
	}
	switch {
	case right && reason != "":
		t.Errorf("%s %s is judged rightly, so it is not pending any more: %s", kind, r.name, reason)
	case !right && reason == "":
		t.Errorf("%s %s: %s\n%s\n%s", kind, r.name, said, want, r.message)
	}
	return pending
}
