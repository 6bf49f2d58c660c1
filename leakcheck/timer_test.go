package leakcheck

import (
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/refscan"
)

// pendingTimers returns n timers of one function, with the objects that each keeps.
func pendingTimers(name string, n int64, dueFirst, dueLast time.Duration, keeps ...*refscan.Node) *refscan.Node {
	root := node("timer("+name+")", "", 0, 0, append(keeps, node("$timer", "*time.Timer", n, 112*n))...)
	root.Root = &refscan.RootInfo{Kind: refscan.RootTimer, Package: symbol.Package(name), Timers: n, DueFirst: dueFirst, DueLast: dueLast}
	return root
}

// Timers that are pending after each batch are growth.
func TestGrowthOfPendingTimers(t *testing.T) {
	for _, tt := range []struct {
		name    string
		figures []int64 // after 10, 20, 40, 80, 160, once more 160, and then 200, 280 and 360 calls
		last    time.Duration
		want    string // in the failure; "": it passes
	}{
		{"far ones", []int64{10, 20, 40, 80, 160, 160}, far, "+1.00 timer/op (+112 B/op) via timer(context.WithTimeout)"},
		{"near ones that are set again", []int64{10, 20, 40, 80, 160, 160}, 1500 * time.Millisecond, "+1.00 timer/op"},
		{"some near, some far", []int64{10, 20, 40, 80, 160, 150, 187, 262, 337}, far, "+0.93 timers/op"},
		{"no more than before", []int64{10, 10}, far, ""},
	} {
		var reports []*refscan.Report
		for _, n := range tt.figures {
			reports = append(reports, report(sessions(3), pendingTimers("context.WithTimeout", n, min(tt.last, time.Second), tt.last)))
		}
		w := newWorld(t, reports...)
		ft, ok, _ := w.growth(nil, tenAndTen...)
		if ok != (tt.want == "") || !strings.Contains(ft.errorText(), tt.want) {
			t.Errorf("%s: want %q, passed is %v\n%s\n%s", tt.name, tt.want, ok, ft.errorText(), ft.logs)
		}
	}
}

func TestBoundsOfTimers(t *testing.T) {
	expire := pendingTimers("example.com/app.(*Session).expire", 2, far, far, node("$recv", "*example.com/app.Session", 2, 192))
	timeout := pendingTimers("context.WithTimeout", 3, far, far, node("$fn", "func context.WithDeadlineCause.func2", 3, 48,
		node("c", "*context.timerCtx", 3, 300, node("Context.val", "*example.com/app.Session", 1, 96))))
	soon := pendingTimers("context.WithTimeout", 3, time.Second, time.Second, node("$fn", "func context.WithDeadlineCause.func2", 3, 48))
	alarm := pendingTimers("testing.(*M).startAlarm.func1", 1, far, far, node("$fn", "func testing.(*M).startAlarm.func1", 1, 16))
	gone := report(sessions(1))

	for _, tt := range []struct {
		name    string
		reports []*refscan.Report
		opts    []Option
		passes  bool
		logs    string
	}{
		{"by type", []*refscan.Report{report(timeout)}, []Option{TypeNamed("context.timerCtx").None()}, false, ""},
		{"by name", []*refscan.Report{report(timeout)}, []Option{Root("timer(context.WithTimeout)").MaxObjects(9)}, false, ""},
		{"all of them", []*refscan.Report{report(timeout, expire)}, []Option{Root("timer(...)").MaxObjects(14)}, true, ""},
		{"by a short import path", []*refscan.Report{report(expire)}, []Option{Root("timer(app.(*Session).expire)").None()}, false, ""},
		{"none is pending", []*refscan.Report{gone}, []Option{Root("timer(app.(*Session).expire)").None()}, true, ""},
		{"no such function", []*refscan.Report{gone}, []Option{Root("timer(app.(*Session).expires)").None()}, false, ""},
		{"the alarm of go test", []*refscan.Report{report(alarm)}, []Option{Root("timer(...)").None(), Path("timer(*)").None(), Root("**").None()}, true, ""},
		{"the alarm beside others", []*refscan.Report{report(alarm, expire)}, []Option{Root("timer(...)").None()}, false, ""},
		{"the alarm by its name", []*refscan.Report{report(alarm)}, []Option{Root("timer(testing.(*M).startAlarm.func1)").None()}, false, ""},
		{"the alarm's path by its name", []*refscan.Report{report(alarm)}, []Option{Path("timer(testing.(*M).startAlarm.func1).$fn").None()}, false, ""},
		{"mended: a name without a function", []*refscan.Report{gone}, []Option{Root("timer(net/http.Server.IdleTimeout)").None()}, true, ""},
		{"mended: a timer with a channel", []*refscan.Report{gone}, []Option{Root("timer(time.Timer)").None(), Root("timer(time.Ticker)").None()}, true, ""},
		{"mended: a path below", []*refscan.Report{gone}, []Option{Path("timer(context.WithTimeout).$fn.c").None()}, true, ""},
		{"no such name of a timer", []*refscan.Report{gone}, []Option{Root("timer(net/http.Server.IdleTimout)").None()}, false, ""},
		{"no such timer of package time", []*refscan.Report{gone}, []Option{Root("timer(time.Timers)").None()}, false, ""},
		{"ignored", []*refscan.Report{report(timeout)}, []Option{TypeNamed("context.timerCtx").None(), Ignore("timer(context.WithTimeout)", "x")}, true, "ignored: "},
		{"fired", []*refscan.Report{report(soon), report(soon), gone}, []Option{Root("timer(context.WithTimeout)").None()}, true, "waited 1.1s for timers"},
		{"a scope by what they run", []*refscan.Report{report(expire, timeout)}, []Option{TypeNamed("time.Timer").MaxObjects(2), Scope("example.com/app")}, true, ""},
		{"a scope by what hangs on them", []*refscan.Report{report(timeout)}, []Option{TypeNamed("app.Session").None(), Scope("example.com/app")}, false, ""},
	} {
		w := newWorld(t, tt.reports...)
		w.names.Types = append(w.names.Types, "*context.timerCtx", "*time.Timer")
		w.names.Roots = append(w.names.Roots, "example.com/app.(*Session).expire")
		ft, ok := w.assert(tt.opts...)
		if ok != tt.passes || !ft.logged(tt.logs) {
			t.Errorf("%s: passed is %v\n%s\n%s", tt.name, ok, ft.errorText(), ft.logs)
		}
	}
}

const far = time.Hour

// A golden file has the timers of the module, and objects of the module that hang on other timers.
// It never has the time at which they are due.
func TestGoldenOfTimers(t *testing.T) {
	var first string
	for _, due := range []time.Duration{time.Hour, time.Minute} {
		w := newWorld(t, report(
			pendingTimers("example.com/app.(*Session).expire", 2, due, due, node("$recv", "*example.com/app.Session", 2, 192)),
			pendingTimers("net.(*conn).SetDeadline", 5, due, due),
			pendingTimers("context.WithTimeout", 3, due, due, node("$fn", "func context.WithDeadlineCause.func2", 3, 48, node("c.val", "*example.com/app.Session", 1, 96))),
		))
		if ft, ok := w.assert(); !ok {
			t.Fatal(ft.errorText())
		}
		text := w.goldenText(t, "TestLogout.golden")
		for _, want := range []string{"timer(context.WithTimeout).$fn.c.val", "timer(example.com/app.(*Session).expire).$recv"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
		if strings.Contains(text, "SetDeadline") || strings.Contains(text, "func2") || first != "" && text != first {
			t.Errorf("%s\nbefore:\n%s", text, first)
		}
		first = text
	}
}

// Functions that set their timers again grow, even if a snapshot finds many of them between timer
// and run.
func TestGrowthOfTimersSetAgain(t *testing.T) {
	closures := func(n int64) *refscan.Node {
		return node("$recv", "*example.com/app.poller", n, 112*n)
	}
	var reports []*refscan.Report
	for _, n := range []struct{ pending, fired int64 }{{10, 0}, {5, 15}, {0, 40}, {80, 0}, {60, 100}, {0, 160}, {100, 140}} {
		roots := []*refscan.Node{sessions(3)}
		if n.pending > 0 {
			roots = append(roots, pendingTimers("example.com/app.(*poller).poll", n.pending, time.Millisecond, time.Millisecond,
				node("$fn", "func example.com/app.(*poller).poll-fm", n.pending, 16*n.pending, closures(n.pending))))
		}
		if n.fired > 0 {
			record := node("goroutine example.com/app.(*poller).poll-fm", "func example.com/app.(*poller).poll-fm", n.fired, 16*n.fired, closures(n.fired))
			record.Root = &refscan.RootInfo{Kind: refscan.RootOther, CreatedBy: "time.goFunc", CreatedAt: "/go/src/time/sleep.go:215"}
			roots = append(roots, record)
		}
		reports = append(reports, report(roots...))
	}
	ft, ok, _ := newWorld(t, reports...).growth(nil, tenAndTen...)
	if want := "+1.00 timer/op (+128 B/op) via timer(example.com/app.(*poller).poll)"; ok || !strings.Contains(ft.errorText(), want) {
		t.Errorf("want %q\n%s", want, ft.errorText())
	}
}

// A timer that holds objects says when it is due, and what usually keeps it pending.
func TestTimersInMessages(t *testing.T) {
	contexts := func(n int64) *refscan.Node {
		root := node("timer(context.WithTimeout)", "*context.timerCtx", n, 112*n, node("timer", "*time.Timer", n, 112*n))
		root.Root = &refscan.RootInfo{Kind: refscan.RootTimer, Package: "context", Timers: n, DueFirst: 59*time.Minute + 58*time.Second, DueLast: 59*time.Minute + 58*time.Second + time.Millisecond}
		return root
	}
	w := newWorld(t, report(contexts(120)))
	w.names.Types = append(w.names.Types, "context.timerCtx")
	ft, ok := w.assert(TypeNamed("context.timerCtx").None())
	if ok {
		t.Fatal("passed")
	}
	wantInOrder(t, ft.errorText(), `
    found 120 objects, 13.1 KiB
    held by the timer timer(context.WithTimeout), due in 59m58s (120 pending)
    the usual cause: the cancel function of a context is not called

       objects       bytes
           120    13.1 KiB  timer(context.WithTimeout)  *context.timerCtx
`)
	ft, _, _ = newWorld(t, growing(contexts, 10, 20, 40, 80, 160)...).growth(nil, tenAndTen...)
	wantInOrder(t, ft.errorText(), `
+1.00 *context.timerCtx/op (+224 B/op) via timer(context.WithTimeout)
    the usual cause: the cancel function of a context is not called
`, "    held by the timer timer(context.WithTimeout), due in 59m58s (160 pending)\n")
}
