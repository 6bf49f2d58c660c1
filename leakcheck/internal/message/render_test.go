package message_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// render renders findings, without the lines at the end that are the same for all.
func render(change func(*message.Input), findings ...check.Finding) string {
	in := message.Input{Eval: &check.Evaluation{
		Seen:   &check.Seen{Observation: &observe.Observation{Report: &refscan.Report{}}},
		Result: check.Result{Findings: findings},
	}}
	if change != nil {
		change(&in)
	}
	return strings.TrimSpace(strings.Join(message.Render(in, env), "\n"))
}

func wantText(t *testing.T, what, want, got string) {
	t.Helper()
	assert.Equal(t, strings.TrimSpace(want), got, what)
}

// standing makes a goroutine that stands in functions, innermost first, each with a frame of 100
// bytes more than the one before.
func standing(state, entry string, functions ...string) *refscan.GoroutineStack {
	g := &refscan.GoroutineStack{
		Hi: 8192, State: "waiting", WaitReason: state, Entry: entry, CreatedBy: "example.com/app.New", CreatedFile: "/src/app/new.go", CreatedLine: 7,
		Trace: new(refscan.StackTrace),
	}
	for i, f := range functions {
		g.Trace.Frames = append(g.Trace.Frames, refscan.StackFrame{
			Size: int64(100 * (i + 1)), StackLocation: &refscan.StackLocation{Func: f, File: "/src/app/pool.go", Line: 10 + i, StartLine: 1 + i},
		})
	}
	return g
}

const run = "example.com/app.run"

// A bound on goroutines lists where they come from and where they stand.
func TestRenderGoroutines(t *testing.T) {
	var all []*refscan.GoroutineStack
	for i := range 7 {
		entry := fmt.Sprintf("example.com/app.run%d", i)
		for range 7 - i { // those with equal stacks share the trace
			all = append(all, standing("chan receive", entry, "runtime.gopark", "example.com/app.wait", entry))
			if last := len(all) - 1; last > 0 && all[last-1].Entry == entry {
				all[last].Trace = all[last-1].Trace
			}
		}
	}
	bound := func(crews goroutine.Census) check.Finding {
		return check.Finding{Shown: "Goroutines().None()", Amount: "found some", Broken: true, Crews: crews}
	}
	census := goroutine.TakeCensus(all[:1])
	wantText(t, "one", `
leakcheck: more is retained than the test allows

Goroutines().None()
    found some
    1 goroutine started in example.com/app.run0, created by example.com/app.New (new.go:7)
       chan receive in example.com/app.wait (pool.go:11); stack 8.0 KiB
`, render(nil, bound(census)))
	text := render(nil, bound(goroutine.TakeCensus(all)))
	assert.Equal(t, 5, strings.Count(text, " started in "))
	assert.Contains(t, text, "\n    and 3 goroutines more")

	idle := goroutine.TakeCensus([]*refscan.GoroutineStack{standing("GC worker (idle)", run, "runtime.gopark")})
	assert.Contains(t, render(nil, bound(idle)), "\n       GC worker (idle); stack 8.0 KiB")
}

// A bound on the memory of stacks shows the frames, from the outermost in.
func TestRenderFrames(t *testing.T) {
	p, err := naming.CompilePathPattern("app.run")
	assert.NoError(t, err)
	functions := []string{"example.com/app.leaf", "example.com/app.walk", "example.com/app.walk", run, "runtime.goexit"}
	two := goroutine.TakeCensus([]*refscan.GoroutineStack{standing("select", run, functions...)})
	two[0].Count = 2
	two[0].Trace.Frames[0].Inlined = []refscan.InlinedCall{{Func: "example.com/app.inner", File: "/src/app/in.go", Line: 3}, {Func: "runtime.memmove"}}
	bound := check.Finding{Shown: "Stack()", Amount: "too much", Broken: true, Crews: two, Frames: &p}
	wantText(t, "frames", `
leakcheck: more is retained than the test allows

Stack()
    too much
    the largest frame is that of example.com/app.run (pool.go:4): 400 B in each of 2 goroutines
    2 goroutines started in example.com/app.run, created by example.com/app.New (new.go:7)
       select in example.com/app.inner (in.go:3)

         frame         all
         400 B       800 B  app.run (pool.go:13)
         500 B      1000 B  └─ app.walk (pool.go:12), 2 frames
         100 B       200 B     └─ app.leaf (pool.go:10), with app.inner inlined
`, render(nil, bound))

	for i := range 20 {
		functions = append([]string{fmt.Sprintf("example.com/app.f%d", i)}, functions...)
	}
	deep := goroutine.TakeCensus([]*refscan.GoroutineStack{standing("select", run, functions...)})
	bound.Crews = append(deep, two...)
	text := render(nil, bound)
	assert.Contains(t, text, "└─ … 9 frames more")
	assert.Contains(t, text, "\n    besides:\n    2 goroutines started in")
	bound.Crews = nil
	assert.NotContains(t, render(nil, bound), "frame")
}

// Goroutines that wait for ever are listed by origin and by what they wait for, those that keep the
// most alive first.
func TestRenderLeaked(t *testing.T) {
	leaked := func(state string, bytes int64) *refscan.LeakedGoroutine {
		return &refscan.LeakedGoroutine{GoroutineStack: standing(state, run, run), HeapObjects: 1, HeapBytes: bytes}
	}
	bound := check.Finding{Shown: "Leaked()", Amount: "found 3", Broken: true}
	for state, want := range map[string]string{
		"chan receive":            "no variable of the program and no goroutine that can still run reaches the channel",
		"chan send (nil chan)":    "a nil channel is never ready",
		"select":                  "no variable of the program and no goroutine that can still run reaches its channels",
		"select (no cases)":       "an empty select never ends",
		"sync.WaitGroup.Wait":     "no variable of the program and no goroutine that can still run reaches the WaitGroup",
		"coroutine":               "nothing that can still run reaches the functions next and stop that iter.Pull returned; usual cause: stop is not called",
		"something that is later": "no variable of the program and no goroutine that can still run reaches what it waits for",
	} {
		bound.Leaked = []*refscan.LeakedGoroutine{leaked("select (few)", 1), leaked(state, 1024), leaked(state, 1024)}
		wantText(t, state, `
leakcheck: more is retained than the test allows

Leaked()
    found 3
    2 goroutines started in example.com/app.run, created by example.com/app.New (new.go:7)
       `+state+` in example.com/app.run (pool.go:10): `+want+`
       kept alive: 16.0 KiB of stack and 2 objects, 2.0 KiB of heap
    1 goroutine started in example.com/app.run, created by example.com/app.New (new.go:7)
       select (few) in example.com/app.run (pool.go:10): no variable of the program and no goroutine that can still run reaches its channels
       kept alive: 8.0 KiB of stack and 1 object, 1 B of heap
`, render(nil, bound))
	}
	bound.Leaked = nil
	for i := range 7 {
		bound.Leaked = append(bound.Leaked, leaked(fmt.Sprint("select ", i), 8))
	}
	assert.True(t, strings.HasSuffix(render(nil, bound), "\n    and more at 2 other places"))
}

// Bounds on the heap are traced, two of them, and each path once.
func TestRenderBounds(t *testing.T) {
	root := tree.GrowForest(report(sessions(100)))[0]
	bound := func(shown string, culprit *tree.Branch) check.Finding {
		return check.Finding{Shown: shown, Amount: "found some", Broken: true, Heap: check.Heap{Culprits: []*tree.Branch{culprit}, Weight: tree.ObjectsOf}}
	}
	text := render(nil, bound("A", root.Children[0]), check.Finding{Shown: "holds"}, bound("B", root.Children[0]), bound("C", root), bound("D", root.Children[0].Children[0]),
		check.Finding{Shown: "E", Amount: "resources", Broken: true, Detail: []string{"fd: 3 → 4"}})
	wantText(t, "bounds", `
leakcheck: more is retained than the test allows (5 of 6 bounds)

A
    found some
    held by the package variable example.com/app.sessions (registry.go:12)

       objects       bytes
             1     8.0 KiB  example.com/app.sessions  map[string]*app.Session, 100 entries
           100     9.4 KiB  └─ [*]  *app.Session

B
    found some
    most of it is at the end of the path above

C
    found some
    held by the package variable example.com/app.sessions (registry.go:12)

       objects       bytes
             1     8.0 KiB  example.com/app.sessions  map[string]*app.Session, 100 entries

D
    found some

E
    resources
    fd: 3 → 4
`, text)
	below := bound("A", root)
	below.Below = true
	assert.Contains(t, render(nil, below), "\n    besides:\n            50       800 B  example.com/app.sessions[*].id  string")

	e := &check.Evaluation{Seen: new(check.Seen), Result: check.Result{Findings: []check.Finding{below, {Broken: true}, bound("B", root), bound("C", root.Children[0])}}}
	assert.Equal(t, []observe.Place{{Path: "example.com/app.sessions[*]", Typ: "*example.com/app.Session"}}, message.Places(e), "of two traces")
}

// What follows the findings tells what was left out, and what can be done.
func TestRenderEnd(t *testing.T) {
	body := func(in *message.Input) { in.Body = []string{"body"} }
	assert.Equal(t, "body", render(body))
	p, err := naming.CompilePathPattern("app.debug")
	assert.NoError(t, err)
	assert.Equal(t, `body

ignored: 2 objects, 96 B at app.debug: only in tests
warning: one
warning: two
warning: three
still so in the last of 3 snapshots: waiting does not help
profile: go tool pprof -http=: heap.pprof`, render(func(in *message.Input) {
		body(in)
		ignoring := tree.Ignoring{Pattern: p, Reason: "only in tests"}
		in.Eval.Ignored = []tree.Ignored{{Ignoring: ignoring, Paths: 1, Tally: tree.Tally{Objects: 2, Bytes: 96}}, {Ignoring: ignoring}}
		in.Eval.Report.Warnings = []string{"one", "two", "three", "four"}
		in.Snapshots, in.Profile, in.Scanned, in.CanHave = 3, "heap.pprof", true, true
	}))
	assert.Equal(t, "body\n\nfor a profile of all that is retained: go test -artifacts, or leakgate run", render(func(in *message.Input) {
		body(in)
		in.CanHave, in.Scanned = true, true
	}))
	assert.Equal(t, "body", render(func(in *message.Input) {
		body(in)
		in.CanHave, in.Profile = true, "heap.pprof"
	}), "without a scan there is no profile")
}

// A golden file's message has the differences, and explains the worst.
func TestRenderGolden(t *testing.T) {
	root := tree.GrowForest(report(sessions(100)))[0]
	line := golden.Measurement{Path: "example.com/app.sessions[*]", Type: "*example.com/app.Session", Objects: 100, Bytes: 9600}
	worst := &golden.Difference{Kind: golden.Unlisted, Entry: golden.Entry{Path: line.Path, Type: line.Type}, Objects: 100, Bytes: 9600, Covered: []golden.Measurement{line}, ObjectsOver: 100}
	compared := func(in *message.Input) {
		in.Golden = &check.Comparison{Shown: "testdata/x.golden", File: golden.New(nil), Diff: "+ a line\n", Failures: []golden.Difference{*worst}}
		in.Update = "go test -leakcheck.update"
	}
	finding := check.Finding{Broken: true, Line: worst, Heap: check.Heap{Culprits: []*tree.Branch{root.Children[0]}, Weight: tree.ObjectsOf}}
	text := render(compared, finding)
	assert.True(t, strings.HasPrefix(text, "leakcheck: more is retained than the golden file allows (1 path): testdata/x.golden\n\n    + a line\n\nthe most: example.com/app.sessions[*] "), text)
	assert.Contains(t, text, "\n    held by the package variable example.com/app.sessions (registry.go:12)\n")
	assert.True(t, strings.HasSuffix(text, "\nto accept it: go test -leakcheck.update"), text)

	long := render(func(in *message.Input) {
		compared(in)
		in.Golden.Diff = strings.Repeat("+ a line\n", 20)
	}, finding)
	assert.Equal(t, 16, strings.Count(long, "+ a line"))
	assert.Contains(t, long, "\n    … 4 more lines\n")

	// a line on goroutines, and one on their frames
	census := goroutine.TakeCensus([]*refscan.GoroutineStack{standing("select", run, run), standing("select", "example.com/app.other", "example.com/app.other")})
	for _, tt := range []struct {
		line golden.Measurement
		want string
	}{
		{census[0].CountLine(), "\n    1 goroutine started in example.com/app.run, created by example.com/app.New (new.go:7)\n       select in example.com/app.run (pool.go:10); stack 8.0 KiB\n"},
		{golden.Measurement{Path: goroutine.StackLine + run}, "\n    the largest frame is that of example.com/app.run (pool.go:1): 100 B\n    1 goroutine started in"},
	} {
		d := *worst
		d.Covered = []golden.Measurement{tt.line}
		text := render(func(in *message.Input) {
			compared(in)
			in.Eval.Census = census
		}, check.Finding{Broken: true, Line: &d})
		assert.Contains(t, text, tt.want)
		assert.NotContains(t, text, "app.other")
	}
	nobody := render(compared, check.Finding{Broken: true, Line: &golden.Difference{Kind: golden.Unlisted}})
	assert.NotContains(t, nobody, "the most")
	in := message.Input{Eval: &check.Evaluation{Seen: &check.Seen{Observation: &observe.Observation{Report: &refscan.Report{}}}, Result: check.Result{Findings: []check.Finding{finding}}}}
	compared(&in)
	lines := message.Render(in, &environ.Environment{Goldens: "base"})
	assert.Contains(t, lines[0], "more is retained than the base retains (1 path)")
	assert.NotContains(t, strings.Join(lines, "\n"), "to accept it")
	assert.Len(t, message.Places(in.Eval), 1)
}
