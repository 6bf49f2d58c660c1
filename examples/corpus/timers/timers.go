// Package timers leaks by timers.
package timers

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/corpus/app"
	"example.com/corpus/internal/judge"
)

// Group is the cases of the package.
var Group = judge.Group{Name: "timers", Cases: []judge.Case{
	{Name: "ExpireMethod", Leak: judge.Op(loginWithoutStop), Fixed: judge.Op(login), Grows: judge.Objects, Culprit: `timer\(.*app\.\(\*Session\)\.Expire`},
	{Name: "ExpireClosure", Leak: judge.Op(remindWithoutStop), Fixed: judge.Op(remind), Grows: judge.Objects, Culprit: `timer\(.*timers\.remindWithoutStop`},
	{Name: "TimersKept", Leak: judge.Op(keepTimer, clearTimers), Fixed: judge.Op(stopTimer, clearTimers), Grows: judge.Objects, Culprit: `timers\.expiries`},
	{Name: "TickersKept", Leak: judge.Op(keepTicker, clearTickers), Fixed: judge.Op(stopTicker, clearTickers), Grows: judge.Objects, Culprit: `timers\.heartbeats|timer\(time\.NewTicker\)`},
	{Name: "TickerLoop", Leak: judge.Op(pollForever), Fixed: judge.Op(poll), Grows: judge.Goroutines, Culprit: `timers\.pollForever`},
	{Name: "Rearming", Leak: judge.Op(renewForever), Fixed: judge.Op(renewOnce), Grows: judge.Objects, Culprit: `timer\(.*timers\.\(\*lease\)\.renew`},
	{Name: "PollingOften", Leak: pollers(false), Fixed: pollers(true), Grows: judge.Objects.After(50), Culprit: `timer\(.*timers\.\(\*poller\)\.poll`},
	{Name: "CacheEntryTimers", Leak: ttlCache(false), Fixed: ttlCache(true), Grows: judge.Objects, Culprit: `timer\(.*timers\.`},
	{Name: "Debounce", Leak: debounce(false), Fixed: debounce(true), Grows: judge.Objects, Culprit: `timer\(.*timers\.`},
	{Name: "PipeDeadline", Leak: judge.Op(pipeWithDeadline), Fixed: judge.Op(pipeClosed), Grows: judge.Objects, Culprit: `timer\(.*net\.|net\.\(\*pipe`},
	{Name: "GenericTimer", Leak: judge.Op(generalExpiry(false)), Fixed: judge.Op(generalExpiry(true)), Grows: judge.Objects, Culprit: `timer\(.*timers\.(newExpiring|\(\*expiring)`},
	{Name: "AfterHeld", Leak: judge.Op(keepAfter, clearAfters), Fixed: judge.Op(dropAfter, clearAfters), Grows: judge.Objects, Culprit: `timers\.pendings|timer\(time\.After\)`},

	{Name: "AfterInLoop", Healthy: judge.Op(afterInLoop), Grows: judge.Objects},
	{Name: "DroppedTicker", Healthy: judge.Op(droppedTicker), Grows: judge.Objects},
	{Name: "SoonDue", Healthy: judge.Op(soonDue), Grows: judge.Objects.After(50)},
	{Name: "ResetTimer", Healthy: resetTimer, Grows: judge.Objects},
	{Name: "StoppedAfterFunc", Healthy: judge.Op(stoppedMany), Grows: judge.Objects},
}}

func loginWithoutStop() { time.AfterFunc(time.Hour, app.NewSession().Expire) }

func login() {
	t := time.AfterFunc(time.Hour, app.NewSession().Expire)
	defer t.Stop()
}

func remindWithoutStop() {
	s := app.NewSession()
	time.AfterFunc(time.Hour, func() { s.Notify() })
}

func remind() {
	s := app.NewSession()
	t := time.AfterFunc(time.Hour, func() { s.Notify() })
	defer t.Stop()
}

var expiries []*time.Timer

func clearTimers() { expiries = nil }

func keepTimer() { expiries = append(expiries, time.NewTimer(time.Hour)) }

func stopTimer() {
	t := time.NewTimer(time.Hour)
	expiries = append(expiries[:0], t)
	t.Stop()
}

var heartbeats = map[string]*time.Ticker{}

func clearTickers() { clear(heartbeats) }

func keepTicker() { heartbeats[app.NewSession().ID] = time.NewTicker(time.Hour) }

func stopTicker() {
	id := app.NewSession().ID
	heartbeats[id] = time.NewTicker(time.Hour)
	heartbeats[id].Stop()
	delete(heartbeats, id)
}

func pollForever() {
	go func() {
		for range time.Tick(time.Hour) {
			app.NewSession().Notify()
		}
	}()
}

func poll() {
	quit := make(chan struct{})
	defer close(quit)
	go func() {
		tick := time.Tick(time.Hour)
		for {
			select {
			case <-tick:
				app.NewSession().Notify()
			case <-quit:
				return
			}
		}
	}()
}

// A lease renews itself.
type lease struct {
	timer *time.Timer
	data  [100]byte
}

func (l *lease) renew() { l.timer.Reset(time.Hour) }

func renewForever() {
	l := &lease{}
	l.timer = time.AfterFunc(time.Hour, l.renew)
}

func renewOnce() {
	l := &lease{}
	l.timer = time.AfterFunc(time.Hour, l.renew)
	l.timer.Stop()
}

// A poller looks again every few milliseconds, so that a snapshot finds it waiting, or about to
// run.
type poller struct {
	session *app.Session
	stopped *atomic.Bool
}

func (p *poller) poll() {
	if !p.stopped.Load() {
		p.session.Notify()
		time.AfterFunc(5*time.Millisecond, p.poll)
	}
}

func pollers(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		all := new(atomic.Bool)
		t.Cleanup(func() { all.Store(true) })
		return func() {
			p := &poller{app.NewSession(), all}
			if fixed {
				p.stopped = new(atomic.Bool)
				defer p.stopped.Store(true)
			}
			p.poll()
		}
	}
}

// A cache whose entries are deleted by timers, or earlier.
type cache struct {
	mu      sync.Mutex
	entries map[string]*cached
}

type cached struct {
	session *app.Session
	expiry  *time.Timer
}

func (c *cache) put(s *app.Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries[s.ID] = &cached{s, time.AfterFunc(time.Hour, func() { c.delete(s.ID, false) })}
}

func (c *cache) delete(id string, stop bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stop {
		c.entries[id].expiry.Stop()
	}
	delete(c.entries, id)
}

func ttlCache(fixed bool) judge.Setup {
	return func(*testing.T) func() {
		c := &cache{entries: make(map[string]*cached)}
		return func() {
			s := app.NewSession()
			c.put(s)
			c.delete(s.ID, fixed)
		}
	}
}

// A debouncer calls the last function that it was given, when no other has come for an hour.
type debouncer struct{ timer *time.Timer }

func (d *debouncer) call(f func(), fixed bool) {
	if fixed && d.timer != nil {
		d.timer.Stop()
	}
	d.timer = time.AfterFunc(time.Hour, func() { f() })
}

func debounce(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		d := &debouncer{}
		t.Cleanup(func() { d.timer.Stop() })
		return func() { d.call(app.NewSession().Notify, fixed) }
	}
}

func pipeWithDeadline() {
	a, b := net.Pipe()
	_ = a.SetDeadline(time.Now().Add(time.Hour))
	_ = b
}

func pipeClosed() {
	a, b := net.Pipe()
	_ = a.SetDeadline(time.Now().Add(time.Hour))
	_ = a.SetDeadline(time.Time{})
	_ = b
}

// An expiring value is forgotten after an hour.
type expiring[T any] struct{ value *T }

func (e *expiring[T]) forget() { e.value = nil }

func newExpiring[T any](v *T) *time.Timer {
	e := &expiring[T]{v}
	return time.AfterFunc(time.Hour, e.forget)
}

func generalExpiry(fixed bool) func() {
	return func() {
		timer := newExpiring(app.NewSession())
		if fixed {
			timer.Stop()
		}
	}
}

var pendings []<-chan time.Time

func clearAfters() { pendings = nil }

func keepAfter() { pendings = append(pendings, time.After(time.Hour)) }

func dropAfter() { pendings = append(pendings[:0], time.After(time.Hour)) }

// Since Go 1.23 a timer to which nobody refers is garbage, even if it is not due.
func afterInLoop() {
	ready := make(chan int, 1)
	for range 10 {
		ready <- 1
		select {
		case <-ready:
		case <-time.After(time.Hour):
			panic("not ready")
		}
	}
}

func droppedTicker() {
	ticker := time.NewTicker(time.Hour)
	select {
	case <-ticker.C:
		panic("an hour has passed")
	default:
	}
}

func soonDue() { time.AfterFunc(20*time.Millisecond, app.NewSession().Expire) }

func resetTimer(t *testing.T) func() {
	timer := time.AfterFunc(time.Hour, app.NewSession().Expire)
	t.Cleanup(func() { timer.Stop() })
	return func() { timer.Reset(time.Hour) }
}

func stoppedMany() {
	for range 20 {
		time.AfterFunc(time.Hour, app.NewSession().Expire).Stop()
	}
}
