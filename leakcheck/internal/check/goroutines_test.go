package check

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/reporttest"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// about is an option about goroutines or, if it is about bytes, about their stacks.
func about(text string, check request.GoroutineQuestion, limit int64) request.GoroutineOption {
	function, method := "Goroutines", ".MaxObjects"
	switch check {
	case request.CheckBytes, request.RecordBytes:
		function, method = "Stack", ".MaxBytes"
	case request.CheckLeaked:
		method = ".NoneLeaked"
	}
	s := request.NewGoroutineSelector(function, text)
	return request.GoroutineOption{GoroutineSelector: s, Written: fmt.Sprintf("%s%s(%d)", s.Shown, method, limit), Check: check, Limit: limit}
}

// asked is a request with options about goroutines.
func asked(t *testing.T, options ...request.GoroutineOption) *request.Request {
	t.Helper()
	r := &request.Request{}
	for _, o := range options {
		r.LimitGoroutines(o)
	}
	require.Empty(t, r.Calls.Problems)
	return r
}

func judgedGoroutines(r *request.Request, o *observe.Observation) *Evaluation {
	return Evaluate(o, r, tree.Scope{}, []Check{NewGoroutineCheck(r)})
}

// A bound on goroutines counts them by where they start, one on stacks counts bytes of frames.
func TestGoroutineBounds(t *testing.T) {
	spin := reporttest.Goroutines(1, "example.com/app.spin", "example.com/app.New", reporttest.StackOf("example.com/app.spin", 50))
	yaml := reporttest.Goroutines(1, "gopkg.in/yaml%2ev3.load", "example.com/app.Open", reporttest.StackOf("gopkg.in/yaml%2ev3.load", 50))
	o := running(spin, workers(3, 1000), workers(2, 5000), yaml)
	count, bytes := request.CheckCount, request.CheckBytes
	for _, tt := range []struct {
		option  request.GoroutineOption
		broken  bool
		amount  string
		objects int64
		bytes   int64
		crews   []int64
	}{
		{about("app.New", count, 6), false, "found 6 goroutines", 6, 0, []int64{3, 2, 1}},
		{about("app.New", count, 4), true, "found 6 goroutines: 2 more than allowed", 6, 0, []int64{3, 2, 1}},
		{about("app.New", count, 0), true, "found 6 goroutines", 6, 0, []int64{3, 2, 1}},
		{about("app.spin", count, 1), false, "found 1 goroutine", 1, 0, []int64{1}},
		{about("yaml.v3.load", count, 0), true, "found 1 goroutine", 1, 0, []int64{1}},
		{about("app.idle", count, 0), false, "found 0 goroutines", 0, 0, nil},
		{about("app.(*pool).handle", count, 9), true, "found no goroutine that started there, but 5 in it now: a bound counts goroutines by the function that they started in", 5, 0, []int64{3, 2}},
		{about("app.(*pool).han*", count, 0), false, "found 0 goroutines", 0, 0, nil},
		{about("app.(*pool).run", bytes, 3*1132+2*5132), false, "found 13.3 KiB in 5 goroutines", 5, 13660, []int64{2, 3}},
		{about("app.(*pool).run", bytes, 3*1132+2*5132-1), true, "found 13.3 KiB in 5 goroutines: 1 B more than allowed", 5, 13660, []int64{2, 3}},
		{about("app.spin", bytes, 0), true, "found 50 B in 1 goroutine: 50 B more than allowed", 1, 50, []int64{1}},
		{about("app.idle", bytes, 0), false, "found 0 B in 0 goroutines", 0, 0, nil},
	} {
		e := judgedGoroutines(asked(t, tt.option), o)
		shown := tt.option.Written
		require.Empty(t, e.Problems, shown)
		require.Len(t, e.Findings, 1, shown)
		f := e.Findings[0]
		assert.Equal(t, shown, f.Shown)
		assert.Equal(t, tt.broken, f.Broken, shown)
		assert.Equal(t, tt.amount, f.Amount, shown)
		var crews []int64
		for _, c := range f.Crews {
			crews = append(crews, c.Count)
		}
		assert.Equal(t, tt.crews, crews, shown)
		assert.Equal(t, tt.option.Check == bytes, f.Frames != nil, shown)
		assert.Equal(t, verdict.Retained, f.Record.Kind, shown)
		assert.Equal(t, tt.option.Shown, f.Record.Selector, shown)
		assert.Equal(t, tt.objects, f.Record.Objects, shown)
		assert.Equal(t, tt.bytes, f.Record.Bytes, shown)
		limit, none := f.Record.MaxObjects, f.Record.MaxBytes
		if tt.option.Check == bytes {
			limit, none = none, limit
		}
		assert.Equal(t, tt.option.Limit, *limit, shown)
		assert.True(t, none == nil, shown)
		assert.NoError(t, e.Unknown, shown)
	}

	place := func(o request.GoroutineOption) string {
		r := judgedGoroutines(asked(t, o), running(workers(3, 1000))).Findings[0].Record
		return fmt.Sprintf("%s %s:%d", r.Path, r.File, r.Line)
	}
	assert.Equal(t, "example.com/app.(*pool).run example.com/app/pool.go:31", place(about("app.New", count, 0)), "where they start")
	assert.Equal(t, "example.com/app.(*pool).handle example.com/app/pool.go:30", place(about("app.(*pool).run", bytes, 0)), "the largest frame")
}

// A name that no function has is a mistake.
func TestUnknownGoroutines(t *testing.T) {
	for text, want := range map[string]string{
		"app.idel":          `Goroutines("app.idel").MaxObjects(0): the program has no function of that name; did you mean example.com/app.idle?`,
		"yaml.v3.lod":       `Goroutines("yaml.v3.lod").MaxObjects(0): the program has no function of that name; did you mean gopkg.in/yaml.v3.load?`,
		"net.(*conn).serve": `Goroutines("net.(*conn).serve").MaxObjects(0): the program has no function of that name`,
		"app.handle*":       `Goroutines("app.handle*").MaxObjects(0): the program has no function of that name`,
	} {
		e := judgedGoroutines(asked(t, about(text, request.CheckCount, 0)), running(workers(1, 100)))
		assert.Equal(t, []string{want}, e.Problems)
		assert.Empty(t, e.Findings, text)
	}
	e := judgedGoroutines(asked(t, about("app.(*pool).handle", request.CheckBytes, 5000)), running(workers(1, 100)))
	assert.Empty(t, e.Problems, "a function on a stack is known, even if it is not listed")
	e = judgedGoroutines(asked(t, about("app.(*pool).handle", request.CheckBytes, 5000)), running())
	assert.Len(t, e.Problems, 1)
}

// A bound on a function in which no goroutine can start is a mistake. The program is asked once.
func TestNothingStarts(t *testing.T) {
	noStarts.Clear()
	looks := 0
	starting := func(may, known bool, within ...observe.Start) *observe.Observation {
		o := running(workers(1, 100))
		o.Starts = func(is func(string) bool) (bool, bool, []observe.Start) {
			looks++
			return may, known, within
		}
		return o
	}
	problems := func(text string, check request.GoroutineQuestion, o *observe.Observation) []string {
		functions := []string{"example.com/app.Serve", "example.com/app.Handle", "example.com/app.Ask", "example.com/app.Spin", "example.com/app.Poll"}
		o.Functions = func() iter.Seq[string] { return slices.Values(functions) }
		return judgedGoroutines(asked(t, about(text, check, 0)), o).Problems
	}
	const none = ": no goroutine can start there: it has no go statement, and none names it"
	count := request.CheckCount
	assert.Equal(t, []string{`Goroutines("app.Serve").MaxObjects(0)` + none}, problems("app.Serve", count, starting(false, true)))
	assert.Equal(t, []string{`Goroutines("app.Serve").NoneLeaked(0)` + none}, problems("app.Serve", request.CheckLeaked, starting(true, true)))
	assert.Equal(t, 1, looks, "the answer is kept")
	assert.Equal(t, []string{`Goroutines("app.Handle").MaxObjects(0)` + none + "; goroutines start in what it calls: example.com/app.Open (open.go:7), gopkg.in/yaml.v3.load (y.go:9)"},
		problems("app.Handle", count, starting(false, true, observe.Start{Function: "example.com/app.Open", File: "/src/app/open.go", Line: 7}, observe.Start{Function: "gopkg.in/yaml%2ev3.load", File: "/y/y.go", Line: 9})))
	assert.Empty(t, problems("app.Ask", count, starting(true, true)))
	assert.Empty(t, problems("app.Ask", count, starting(false, true)), "one can")
	assert.Empty(t, problems("app.Spin", count, starting(false, false)), "nothing is known")
	looks = 0
	assert.Empty(t, problems("app.Pol*", count, starting(false, true)), "wildcards")
	assert.Empty(t, problems("app.Poll", request.CheckBytes, starting(false, true)), "stacks")
	assert.Empty(t, problems("app.New", count, starting(false, true)), "it has created one")
	assert.Empty(t, problems("app.(*pool).handle", count, starting(false, true)), "one is in it")
	assert.Equal(t, 0, looks)
}

// A baseline is subtracted from the figures, and goroutines that are in a function do not count.
func TestGoroutinesSince(t *testing.T) {
	for _, tt := range []struct {
		option request.GoroutineOption
		broken bool
		amount string
	}{
		{about("app.New", request.CheckCount, 2), false, "found 2 goroutines beyond the baseline"},
		{about("app.New", request.CheckCount, 1), true, "found 2 goroutines beyond the baseline: 1 more than allowed"},
		{about("app.(*pool).handle", request.CheckCount, 0), false, "found 0 goroutines beyond the baseline"},
		{about("app.New", request.CheckBytes, 2*1172), false, "found 2.3 KiB in 5 goroutines beyond the baseline"},
		{about("app.New", request.CheckBytes, 2*1172-1), true, "found 2.3 KiB in 5 goroutines beyond the baseline: 1 B more than allowed"},
	} {
		r := asked(t, tt.option)
		r.Baseline = &request.Baseline{Goroutines: goroutine.TakeCensus(workers(3, 1000))}
		o := running(workers(5, 1000))
		o.Functions = func() iter.Seq[string] { return slices.Values([]string{"example.com/app.(*pool).handle"}) }
		f := judgedGoroutines(r, o).Findings[0]
		assert.Equal(t, tt.broken, f.Broken, tt.option.Written)
		assert.Equal(t, tt.amount, f.Amount, tt.option.Written)
	}
	r := asked(t, about("app.New", request.CheckCount, 0))
	r.Baseline = &request.Baseline{Goroutines: goroutine.TakeCensus(workers(3, 1000))}
	assert.Equal(t, "found 0 goroutines beyond the baseline", judgedGoroutines(r, running(workers(1, 1000))).Findings[0].Amount)
}

// If a stack cannot be walked, bounds on stacks cannot be judged; those on goroutines can.
func TestUnwalkable(t *testing.T) {
	lost := workers(1, 100)
	lost[0].Trace = &refscan.StackTrace{Unknown: 100, Problem: "the goroutine was running"}
	e := judgedGoroutines(asked(t, about("app.New", request.CheckBytes, 1<<20)), running(workers(1, 100), lost))
	assert.EqualError(t, e.Unknown, (&refscan.UnavailableError{
		Cause:  "the stack of a goroutine started in example.com/app.New.gowrap1 cannot be walked",
		Remedy: "please report this as a bug of leakgate, with the Go version and the program", Err: errors.New("the goroutine was running"),
	}).Error())
	e = judgedGoroutines(asked(t, about("app.New", request.CheckCount, 2)), running(workers(1, 100), lost))
	assert.NoError(t, e.Unknown)
	assert.True(t, e.Ok())
}

// Goroutines that are blocked for ever count with their stacks and what they keep alive.
func TestLeakedGoroutines(t *testing.T) {
	leaked := func(g []*refscan.GoroutineStack) (all []*refscan.LeakedGoroutine) {
		for _, g := range g {
			all = append(all, &refscan.LeakedGoroutine{GoroutineStack: g, HeapObjects: 3, HeapBytes: 1 << 20})
		}
		return all
	}
	other := reporttest.Goroutines(1, "other.org/lib.run", "other.org/lib.Start", reporttest.StackOf("other.org/lib.run", 10))
	tool := reporttest.Goroutines(1, "github.com/leakgate/leakgate/refscan.collectNow", "example.com/app.New", reporttest.StackOf("x", 1))
	o := running(workers(4, 1000), other)
	o.Leaked = leaked(append(append(workers(2, 1000), other...), tool...))
	f := judgedGoroutines(asked(t, about("app.New", request.CheckLeaked, 0)), o).Findings[0]
	assert.True(t, f.Broken)
	assert.Equal(t, "found 2 goroutines blocked for ever, with 128.0 KiB of stack and 6 objects, 2.0 MiB of heap", f.Amount)
	assert.Len(t, f.Leaked, 2)
	zero := int64(0)
	assert.Equal(t, verdict.Bound{
		Kind: verdict.Retained, Selector: `Goroutines("app.New")`, MaxObjects: &zero, Objects: 2, Bytes: 2<<16 + 2<<20,
		Path: "example.com/app.(*pool).run", File: "example.com/app/pool.go", Line: 31,
	}, f.Record)
	o.Leaked = leaked(other)
	f = judgedGoroutines(asked(t, about("app.New", request.CheckLeaked, 0)), o).Findings[0]
	assert.False(t, f.Broken)
	assert.Equal(t, "found no goroutine that is blocked for ever", f.Amount)
	assert.Empty(t, f.Record.Path)
}

// What goes together with options about goroutines, and what a snapshot is to have.
func TestGoroutineOptions(t *testing.T) {
	problems := func(r *request.Request) []string { return NewGoroutineCheck(r).Problems(r) }
	count, recorded, leaked := about("app.New", request.CheckCount, 1), about("app.New", request.RecordCount, 0), about("app.New", request.CheckLeaked, 0)
	assert.Empty(t, problems(asked(t, count, leaked)))
	assert.Empty(t, problems(asked(t, recorded)))
	got := problems(asked(t, recorded, count))
	require.Len(t, got, 1)
	assert.Contains(t, got[0], recorded.Written+" beside a bound: it adds to a golden file")
	r := asked(t, leaked, count)
	r.Baseline = &request.Baseline{}
	got = problems(r)
	require.Len(t, got, 1)
	assert.Contains(t, got[0], leaked.Written+" beside Since: a baseline does not say which goroutines were leaked")
	r = asked(t, count)
	r.Narrow([]string{"app"})
	assert.Equal(t, []string{"Scope and Ignore have no effect on goroutines and stacks; narrow the patterns"}, problems(r))
	r.Limit(request.Bound{Selector: ofSessions, MaxObjects: ref(1)})
	assert.Empty(t, problems(r), "the scope is that of the bound on the heap")

	assert.Equal(t, observe.Needs{Stacks: true}, NewGoroutineCheck(asked(t, count, recorded)).Needs())
	assert.Equal(t, observe.Needs{Stacks: true, Leaked: true}, NewGoroutineCheck(asked(t, count, leaked)).Needs())
}

// Options that are recorded make lines of a golden file, beyond those of a baseline.
func TestMeasureGoroutines(t *testing.T) {
	count, bytes := about("app.New", request.RecordCount, 0), about("app.**", request.RecordBytes, 0)
	now, base := goroutine.TakeCensus(workers(5, 50_000)), goroutine.TakeCensus(workers(2, 50_000))
	line := func(m golden.Measurement) string { return fmt.Sprint(m.Path, " ", m.Objects, " ", m.Bytes) }
	lines := func(base goroutine.Census, options ...request.GoroutineOption) (all []string) {
		for _, m := range MeasureGoroutines(options, now, base) {
			all = append(all, line(m))
		}
		return all
	}
	const run, handle = "goroutine:example.com/app.(*pool).run", "stack:example.com/app.(*pool).handle"
	assert.Equal(t, []string{run + " 5 0", handle + " 5 327680"}, lines(nil, count, bytes))
	assert.Equal(t, []string{run + " 5 0"}, lines(nil, count))
	assert.Equal(t, []string{handle + " 5 327680"}, lines(nil, bytes))
	assert.Equal(t, []string{run + " 3 0", handle + " 3 196608"}, lines(base, count, bytes))
	assert.Empty(t, lines(now, count, bytes))
	assert.Empty(t, lines(nil, about("app.New", request.CheckCount, 0), about("app.New", request.CheckBytes, 0)))
}
