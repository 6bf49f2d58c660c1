package finding

import (
	"cmp"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/repeat"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/source"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/verdict"
)

// handedOut judges what a call of the modules makes, by the call of theirs that a test made: it is
// the test's to end if that call leaves it to the test, and the test did not. Otherwise it is a
// leak; ended says what the test did end, if anything.
func (m *Modules) handedOut(g *Growth, stack []verdict.Call, maker int, e Evidence) (class Class, reason, endedText string) {
	called := stack[maker]
	for _, c := range stack[maker:] {
		if _, test := m.isOfTests(c); test {
			break
		}
		if m.isOwn(symbol.Package(c.Function)) {
			called = c
		}
	}
	if by := m.underWay(called, e.Record.Bounds); by != "" {
		return Unended, by + " is still in " + short(called.Function), ""
	}
	if reason := m.gotByTest(g, e.Lifetimes); reason != "" {
		return Unended, "the test does not " + reason, ""
	}
	handings := m.Handings(called.Function)
	handings = slices.DeleteFunc(slices.Clone(handings), func(h source.Handing) bool { return !concerns(h, g.Bound.Holder) })
	// What is passed, such as the context of a call, matters if there is nothing else to end.
	own := slices.DeleteFunc(slices.Clone(handings), isPassed)
	if len(own) > 0 {
		handings = own
	}
	for _, h := range handings {
		switch m.lifetimeOf(h, &g.Bound, e.Lifetimes) {
		case open:
			reason = cmp.Or(reason, h.Text)
			g.Mixed = g.Mixed || e.Lifetimes[h.Key].Ended > 0
		case over:
			return Leak, "", h.Text
		}
	}
	if reason != "" {
		return Unended, "the test does not " + reason, ""
	}
	return Leak, "", ""
}

// gotByTest says what a test does not end, though it got it from the modules and it holds what
// grows, or goroutines that grow run its methods; "" if there is no such object.
func (m *Modules) gotByTest(g *Growth, all map[string]repeat.Lifetime) string {
	h := g.Bound.Holder
	types := h.Types
	if h.Kind == "goroutine" {
		types = nil
		for _, c := range h.Runs {
			types = append(types, receiver(c.Function))
		}
		for _, held := range h.Holds {
			types = append(types, strings.TrimLeft(held, "*"))
		}
	}
	for _, typ := range types {
		typ, _, _ = strings.Cut(typ, "[")
		l := all[typ+repeat.ToTests]
		if how := m.Ends(typ); how != "" && l.Made > 0 && m.lifetimeOf(source.Handing{Key: typ + repeat.ToTests}, &g.Bound, all) == open {
			g.Mixed = g.Mixed || l.Ended > 0
			return how + " the " + symbol.Short(typ) + " that it gets"
		}
	}
	return ""
}

// receiver returns the full name of the type of a method's receiver; "" for other functions, and
// for literals, which need not refer to it.
func receiver(function string) string {
	pkg, name := symbol.Split(function)
	typ, method, ok := strings.Cut(strings.TrimPrefix(name, "(*"), ").")
	if !ok || strings.Contains(method, ".") {
		return ""
	}
	return pkg + "." + typ
}

// isPassed reports whether it is for what a caller passes.
func isPassed(h source.Handing) bool { return strings.Contains(h.Key, "#") }

// concerns reports whether ending what is handed out may end what grows: what undoes an entry, an
// entry; a receiver, what a package variable holds by way of it; a context, goroutines that do not
// wait to send.
func concerns(h source.Handing, of *verdict.Holder) bool {
	switch {
	case h.Container && of.Filled == nil:
		return false
	case h.Receiver != "" && of.Kind == "global":
		return slices.Contains(of.Types, h.Receiver)
	case isPassed(h):
		return of.State != "chan send" && !strings.HasPrefix(of.State, "sync.")
	}
	return true
}

// A lifetime is what is known of the objects that a function hands out.
type lifetime int

const (
	none lifetime = iota // there are none, because the function failed, or none that matters
	open                 // their use was not ended
	over
)

// lifetimeOf tells whether objects that a function hands out were ended, where something grows. An
// object that was made before, and outlives the calls, excuses no call that its methods forget.
func (m *Modules) lifetimeOf(h source.Handing, b *verdict.Bound, all map[string]repeat.Lifetime) lifetime {
	if all == nil || h.Key == "" {
		return open
	}
	l := all[h.Key]
	if l.Made == 0 && (l.Nothing > 0 || h.Receiver != "" && m.isForgotten(b)) {
		return none
	}
	left, rate := l.Made-l.Ended, b.PerCall
	switch {
	case l.Made == 0: // it was made before, or by code that is not counted
		return open
	case 2*left < min(1, rate):
		return over
	case l.Ended > 0 && rate > 0.9*l.Made && rate < 1.1*l.Made: // it grows with each, ended or not
		return over
	}
	return open
}

// underWay returns the tests' goroutines that pile up within a call: the call goes on, since the
// test does not end it; "" if there are none.
func (m *Modules) underWay(called verdict.Call, all []verdict.Bound) string {
	for _, b := range all {
		h := b.Holder
		if b.Verdict != verdict.Fail || h == nil || h.Kind != "goroutine" || len(h.Made) == 0 {
			continue
		}
		if _, test := m.isOfTests(h.Made[0]); test && slices.ContainsFunc(h.Runs, func(c verdict.Call) bool { return c.Function == called.Function }) {
			return h.Root
		}
	}
	return ""
}

// short is a function's name as messages have it: "app.New".
func short(function string) string { return symbol.Short(symbol.Unescape(function)) }
