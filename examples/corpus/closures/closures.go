// Package closures leaks by functions and interfaces that are kept.
package closures

import (
	"fmt"
	"io"
	"testing"

	"example.com/corpus/app"
	"example.com/corpus/internal/judge"
)

// Group is the cases of the package.
var Group = judge.Group{Name: "closures", Cases: []judge.Case{
	{Name: "Listener", Leak: listeners(false), Fixed: listeners(true), Grows: judge.Objects, Culprit: `closures\.events`},
	{Name: "Unsubscribe", Leak: subscriptions(false), Fixed: subscriptions(true), Grows: judge.Objects, Culprit: `closures\.topic`},
	{Name: "MethodValue", Leak: methods(false), Fixed: methods(true), Grows: judge.Objects, Culprit: `closures\.hooks`},
	{Name: "Wrapped", Leak: wrapped(false), Fixed: wrapped(true), Grows: judge.Objects, Culprit: `closures\.render`},
	{Name: "DeferredInLoop", Leak: deferred(false), Fixed: deferred(true), Grows: judge.Objects, Culprit: `closures\.consume`},
	{Name: "DeferredClose", Leak: deferredClose(false), Fixed: deferredClose(true), Grows: judge.Objects, Culprit: `closures\.closeAll`},
	{Name: "CapturedLarge", Leak: captured(false), Fixed: captured(true), Grows: judge.Bytes(10_000), Culprit: `closures\.later`},
	{Name: "OfOp", Leak: ofOp(false), Fixed: ofOp(true), Grows: judge.Objects, Culprit: `op\.|closures\.ofOp`},
	{Name: "Interface", Leak: observers(false), Fixed: observers(true), Grows: judge.Objects, Culprit: `closures\.observing`},
	{Name: "ErrorChain", Leak: errorChain(false), Fixed: errorChain(true), Grows: judge.Objects, Culprit: `closures\.lastError`},
	{Name: "Closers", Leak: closers(false), Fixed: closers(true), Grows: judge.Objects, Culprit: `closures\.toClose`},
	{Name: "ClosedByTest", Leak: closedByTest(false), Fixed: closedByTest(true), Grows: judge.Objects, Culprit: `which t\.Cleanup keeps until the test ends`},
	{Name: "TestCleanup", Leak: cleanups(false), Fixed: cleanups(true), Grows: judge.Objects, Culprit: `closures\.toStop`},

	{Name: "Once", Healthy: onceMade, Grows: judge.Objects},
	{Name: "Recursion", Healthy: judge.Op(recursion), Grows: judge.Objects},
	{Name: "DeferredCalls", Healthy: judge.Op(manyDeferred), Grows: judge.Objects},
}}

// A bus calls its listeners.
type bus struct {
	listeners map[int]func(string)
	next      int
}

func (b *bus) on(f func(string)) (off func()) {
	if b.listeners == nil {
		b.listeners = map[int]func(string){}
	}
	b.next++
	id := b.next
	b.listeners[id] = f
	return func() { delete(b.listeners, id) }
}

var events bus

func listeners(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { events = bus{} })
		return func() {
			s := app.NewSession()
			off := events.on(func(text string) { s.ID = text })
			if fixed {
				off()
			}
		}
	}
}

// A topic's subscribers are in a list. Unsubscribing sets the entry to nil, and the list gets
// longer.
type subscribers struct{ list []*func() }

var topic subscribers

func (s *subscribers) add(f func()) *func() {
	s.list = append(s.list, &f)
	return &f
}

func (s *subscribers) remove(f *func(), fixed bool) {
	for i, g := range s.list {
		if f == g && fixed {
			s.list = append(s.list[:i], s.list[i+1:]...)
			return
		}
	}
	*f = nil
}

func subscriptions(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { topic = subscribers{} })
		return func() { topic.remove(topic.add(app.NewSession().Notify), fixed) }
	}
}

var hooks []func()

func methods(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { hooks = nil })
		return func() {
			if fixed {
				hooks = hooks[:0]
			}
			hooks = append(hooks, app.NewSession().Notify)
		}
	}
}

var render = func(w io.Writer) {}

func wrapped(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		first := render
		t.Cleanup(func() { render = first })
		return func() {
			inner := render
			if fixed {
				inner = first
			}
			s := app.NewSession()
			render = func(w io.Writer) {
				fmt.Fprint(w, s.ID)
				inner(w)
			}
		}
	}
}

func consume(jobs chan *app.Session, done chan bool) {
	for s := range jobs {
		defer s.Notify()
		done <- true
	}
}

func consumeEach(jobs chan *app.Session, done chan bool) {
	for s := range jobs {
		func() {
			defer s.Notify()
			done <- true
		}()
	}
}

func deferred(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		jobs, done := make(chan *app.Session), make(chan bool)
		if fixed {
			go consumeEach(jobs, done)
		} else {
			go consume(jobs, done)
		}
		t.Cleanup(func() { close(jobs) })
		return func() {
			jobs <- app.NewSession()
			<-done
		}
	}
}

func closeAll(files chan io.Closer, done chan bool) {
	for f := range files {
		defer f.Close()
		done <- true
	}
}

func closeEach(files chan io.Closer, done chan bool) {
	for f := range files {
		f.Close()
		done <- true
	}
}

func deferredClose(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		files, done := make(chan io.Closer), make(chan bool)
		if fixed {
			go closeEach(files, done)
		} else {
			go closeAll(files, done)
		}
		t.Cleanup(func() { close(files) })
		return func() {
			files <- app.NewSession()
			<-done
		}
	}
}

// later are functions that say how long a text was.
var later []func() int

func captured(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { later = nil })
		return func() {
			text := make([]byte, 10_000)
			n := len(text)
			if fixed {
				if later = append(later, func() int { return n }); len(later) > 10 {
					later = nil
				}
				return
			}
			later = append(later, func() int { return len(text) })
		}
	}
}

// ofOp leaks into a variable that the operation itself has captured.
func ofOp(fixed bool) judge.Setup {
	return func(*testing.T) func() {
		var mine []*app.Session
		return func() {
			if fixed {
				mine = mine[:0]
			}
			mine = append(mine, app.NewSession())
		}
	}
}

type observer interface{ Notify() }

var observing = map[observer]func(){}

func observers(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(observing) })
		return func() {
			s := app.NewSession()
			observing[s] = s.Notify
			if fixed {
				delete(observing, s)
			}
		}
	}
}

var lastError error

func errorChain(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { lastError = nil })
		return func() {
			if fixed {
				lastError = nil
			}
			lastError = fmt.Errorf("session %d after %w", app.Next(), lastErrorOr(io.EOF))
		}
	}
}

func lastErrorOr(first error) error {
	if lastError != nil {
		return lastError
	}
	return first
}

// toClose is closed when the program ends.
var toClose []io.Closer

func closers(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { toClose = nil })
		return func() {
			if fixed {
				toClose = toClose[:0]
			}
			toClose = append(toClose, app.NewSession())
		}
	}
}

var toStop = map[int]func(){}

// cleanups stops at the end of the test what should have been stopped earlier.
func cleanups(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		return func() {
			id, s := app.Next(), app.NewSession()
			toStop[id] = func() {
				s.Expire()
				delete(toStop, id)
			}
			if fixed {
				toStop[id]()
				return
			}
			t.Cleanup(toStop[id])
		}
	}
}

func onceMade(*testing.T) func() {
	var f func() string
	return func() {
		if f == nil {
			s := app.NewSession()
			f = func() string { return s.ID }
		}
		_ = f()
	}
}

func recursion() {
	var visit func(depth int) int
	visit = func(depth int) int {
		if depth == 0 {
			return len(app.NewSession().ID)
		}
		return visit(depth-1) + visit(depth-1)
	}
	visit(5)
}

func manyDeferred() {
	for range 50 {
		defer app.NewSession().Notify()
	}
}

// A desk knows who is logged in, until it is closed.
type desk struct{ sessions map[string]*app.Session }

func (d *desk) login() *app.Session {
	s := app.NewSession()
	d.sessions[s.ID] = s
	return s
}

func (d *desk) logout(s *app.Session) { delete(d.sessions, s.ID) }

func (d *desk) close() { clear(d.sessions) }

// closedByTest has a desk that only a function registered with t.Cleanup and the operation refer
// to.
func closedByTest(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		d := &desk{sessions: make(map[string]*app.Session)}
		t.Cleanup(d.close)
		return func() {
			s := d.login()
			if fixed {
				d.logout(s)
			}
		}
	}
}
