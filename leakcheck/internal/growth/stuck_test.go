package growth

import (
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/realtime"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/reporttest"
	"github.com/leakgate/leakgate/leakcheck/internal/calls"
	"github.com/leakgate/leakgate/refscan"
)

// stacks has n goroutines of the program, and some others.
func stacks(n int) string {
	const of = "goroutine 7 [chan receive]:\nexample.com/app.work()\n\t/src/app/app.go:9 +0x1\ncreated by example.com/app.New in goroutine 1\n\t/src/app/app.go:7 +0x1\n\n"
	return strings.Repeat(of, n) + "goroutine 1 [running]:\nmain.main()\n\t/src/main.go:3 +0x1\n"
}

// Of a call that does not return is told what there is as often as calls were made before, or a
// multiple, and the call itself may have left one more of each.
func TestLeftByEach(t *testing.T) {
	timers := func(n int64) *refscan.Node {
		r := reporttest.Node("timer(context.WithTimeout)", "", 0, 0, reporttest.Node("$timer", "*time.Timer", n, 112*n))
		r.Root = &refscan.RootInfo{Kind: refscan.RootTimer, Package: "context", Timers: n}
		return r
	}
	for name, c := range map[string]struct {
		returned int64
		stacks   string
		roots    []*refscan.Node
		want     string
	}{
		"goroutines":          {5, stacks(5), nil, "5 goroutines started in example.com/app.work"},
		"one more":            {4, stacks(5), nil, "5 goroutines started in example.com/app.work"},
		"two more":            {4, stacks(6), nil, ""},
		"too few calls":       {3, stacks(3), nil, ""},
		"twice as many":       {5, "", []*refscan.Node{reporttest.Sessions(10)}, "10 example.com/app.Session, with 4.1 KiB, at example.com/app.sessions[*]"},
		"four times as many":  {5, "", []*refscan.Node{reporttest.Sessions(24)}, "24 example.com/app.Session"},
		"five times as many":  {5, "", []*refscan.Node{reporttest.Sessions(27)}, ""},
		"timers":              {5, "", []*refscan.Node{timers(5)}, "5 timers: timer(context.WithTimeout)"},
		"other timers":        {5, "", []*refscan.Node{timers(3)}, ""},
		"goroutines & timers": {5, stacks(6), []*refscan.Node{timers(5)}, "6 goroutines started in example.com/app.work\n5 timers: timer(context.WithTimeout)"},
		"of the runtime": {5, "", []*refscan.Node{
			{Name: "runtime.x", Type: "*runtime.x", Figures: refscan.Figures{Objects: 5, Bytes: 80}, Root: &refscan.RootInfo{Kind: refscan.RootGlobal, Package: "runtime"}},
		}, ""},
	} {
		w := newWorld(t, func(int64) *refscan.Report { return reporttest.Report(c.roots...) })
		var got []string
		for _, line := range leftByEach(w.begin(&fakeT{}), c.returned, c.stacks) {
			line, _, _ = strings.Cut(line, ", created by")
			got = append(got, line)
		}
		assert.True(t, strings.HasPrefix(strings.Join(got, "\n"), c.want) && (c.want == "") == (got == nil), "%s: %q", name, got)
	}
	w := newWorld(t, nil)
	w.err = assert.AnError
	left := leftByEach(w.begin(&fakeT{}), 5, stacks(5))
	assert.Len(t, left, 1)
	assert.Regexp(t, `^5 goroutines started in example.com/app.work, created by example.com/app.New \(.*app.go:7\): chan receive$`, left[0])
	assert.True(t, w.asked[0].AsIs, "the program may not come to rest")
}

// A call that does not return is told with where it is, and what the calls before have left.
func TestStuck(t *testing.T) {
	w := newWorld(t, func(int64) *refscan.Report { return reporttest.Report(reporttest.Sessions(6)) })
	stop, header := make(chan bool), make(chan string)
	ended := make(chan bool)
	go func() {
		defer close(ended)
		h, _, _ := strings.Cut(ownStack(), "[")
		header <- h
		waitForSlot(stop)
	}()
	s := &calls.Stuck{Call: 7, Since: 6 * time.Second, Header: <-header, Left: "6 descriptors were opened"}
	for {
		at := realtime.AllStacks()
		if i := strings.Index(at, "\n\n"+s.Header); i >= 0 && strings.Contains(at[i:], "growth.waitForSlot") && strings.HasPrefix(at[i+2+len(s.Header):], "[chan receive") {
			break
		}
	}
	(&stuckReport{w.begin(&fakeT{name: "TestX"}), false}).say(s)
	text := w.stderr.String()
	assert.True(t, strings.HasPrefix(text, "leakcheck: TestX: op has not returned from call 7 for 6s; until then 6 descriptors were opened\n    chan receive in:\n        github.com/leakgate/leakgate/leakcheck/internal/growth.waitForSlot ("), text)
	assert.Contains(t, text, "leakcheck: TestX: there are as many as calls, or a multiple:\n")
	assert.Contains(t, text, "6 example.com/app.Session, with ")

	w.stderr.Reset()
	(&stuckReport{w.begin(&fakeT{name: "TestX"}), true}).say(s)
	assert.NotContains(t, w.stderr.String(), "as many as calls", "what another process has is not known")
	close(stop)
	<-ended
}

//go:noinline
func waitForSlot(stop chan bool) { <-stop }

// Of a deep stack the innermost calls are shown, without those of the runtime and of this tool.
func TestStuckAt(t *testing.T) {
	w := newWorld(t, nil)
	r := &stuckReport{a: w.begin(&fakeT{})}
	at := func(functions ...string) string {
		g := &realtime.Goroutine{State: "chan send"}
		for _, f := range functions {
			g.Calls = append(g.Calls, realtime.Call{Function: f, At: "/src/app/app.go:9"})
		}
		return r.at(g)
	}
	text := at("runtime.gopark", "example.com/app.take", "runtime.mapassign", "example.com/app.op", "github.com/leakgate/leakgate/leakcheck/internal/calls.(*Op).Once", "testing.tRunner")
	lines := strings.Split(text, "\n")
	var shown []string
	for _, l := range lines[2:] {
		if function, _, ok := strings.Cut(strings.TrimSpace(l), " ("); ok && strings.HasPrefix(l, "        ") {
			shown = append(shown, function)
		}
	}
	assert.Equal(t, "    chan send in:", lines[1])
	assert.Equal(t, []string{"example.com/app.take", "runtime.mapassign", "example.com/app.op"}, shown)
	deep := at(strings.Fields(strings.Repeat("example.com/app.f ", maxStuckCalls+5))...)
	assert.Equal(t, maxStuckCalls, strings.Count(deep, "example.com/app.f ("))
	assert.Contains(t, deep, "\n        …")
}
