// Package finalizers leaks by finalizers and cleanups.
package finalizers

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/corpus/app"
	"example.com/corpus/internal/judge"
)

// Group is the cases of the package.
var Group = judge.Group{Name: "finalizers", Cases: []judge.Case{
	{Name: "Cycle", Leak: judge.Op(openPair), Fixed: judge.Op(openHalf), Grows: judge.Objects.PerCall(2), Culprit: `finalizer\(\*.*finalizers\.half\)`},
	{Name: "Method", Leak: judge.Op(openWithCallback), Fixed: judge.Op(openWithoutCallback), Grows: judge.Objects, Culprit: `finalizer\(\*.*finalizers\.handle\)`},
	{Name: "Resurrecting", Leak: judge.Op(resurrect, forget), Fixed: judge.Op(collectable, forget), Grows: judge.Objects, Culprit: `finalizers\.(revived|revive)`},
	{Name: "SetAgain", Leak: judge.Op(rearm, disarm), Fixed: judge.Op(rearmNot), Grows: judge.Objects, Culprit: `finalizer\(\*.*finalizers\.phoenix\)`},
	{Name: "CleanupOfItself", Leak: judge.Op(cleanupOfItself), Fixed: judge.Op(cleanupOfPart), Grows: judge.Objects, Culprit: `cleanup\(`},
	{Name: "CleanupOfLiving", Leak: cleanupsOfOne(false), Fixed: cleanupsOfOne(true), Grows: judge.Objects, Culprit: `cleanup\(|finalizers\.`},
	{Name: "CleanupOfOther", Leak: judge.Op(cleanupCycle), Fixed: judge.Op(cleanupLine), Grows: judge.Objects.PerCall(2), Culprit: `cleanup\(`},

	{Name: "SelfReference", Healthy: judge.Op(openSelf), Grows: judge.Objects},
	{Name: "Finalized", Healthy: judge.Op(openOne), Grows: judge.Objects},
	{Name: "Cleanups", Healthy: judge.Op(cleanupOfPart), Grows: judge.Objects},
	{Name: "FinalizerChain", Healthy: judge.Op(openChain), Grows: judge.Objects.After(50)},
	{Name: "RevivedOnce", Healthy: judge.Op(reviveOnce), Grows: judge.Objects},
}}

// Two objects with finalizers that refer to each other are never freed.
type half struct {
	other *half
	data  []byte
}

func (h *half) close() { h.other = nil }

func openPair() {
	a, b := &half{data: make([]byte, 100)}, &half{data: make([]byte, 100)}
	a.other, b.other = b, a
	runtime.SetFinalizer(a, (*half).close)
	runtime.SetFinalizer(b, (*half).close)
}

func openHalf() {
	a, b := &half{data: make([]byte, 100)}, &half{data: make([]byte, 100)}
	a.other = b
	runtime.SetFinalizer(a, (*half).close)
	runtime.SetFinalizer(b, (*half).close)
}

// An object with a finalizer that refers directly to itself is freed: the garbage collector leaves
// out such references (go1.26 runtime/mgcmark.go, scanObject).
type node struct {
	self *node
	data [100]byte
}

func (n *node) close() { n.self = nil }

func openSelf() {
	n := &node{}
	n.self = n
	runtime.SetFinalizer(n, (*node).close)
}

func openOne() {
	n := &node{}
	runtime.SetFinalizer(n, (*node).close)
}

// A handle that holds a closure which refers to it.
type handle struct {
	session *app.Session
	onClose func()
}

func (h *handle) close() { h.onClose() }

func openWithCallback() {
	h := &handle{session: app.NewSession()}
	h.onClose = func() { h.session.Expire() }
	runtime.SetFinalizer(h, (*handle).close)
}

func openWithoutCallback() {
	h := &handle{session: app.NewSession()}
	s := h.session
	h.onClose = func() { s.Expire() }
	runtime.SetFinalizer(h, (*handle).close)
}

// A finalizer that puts its object into a free list which nobody takes from.
type buffer struct{ data [200]byte }

var (
	revivedMu sync.Mutex
	revived   []*buffer
)

func forget() {
	revivedMu.Lock()
	defer revivedMu.Unlock()
	revived = nil
}

func (b *buffer) revive() {
	revivedMu.Lock()
	defer revivedMu.Unlock()
	revived = append(revived, b)
}

func (b *buffer) drop() { b.data[0]++ }

func resurrect() {
	b := &buffer{}
	runtime.SetFinalizer(b, (*buffer).revive)
}

func collectable() {
	b := &buffer{}
	runtime.SetFinalizer(b, (*buffer).drop)
}

// A finalizer that sets itself again keeps its object for ever.
type phoenix struct {
	armed *atomic.Bool
	data  [100]byte
}

var armed = new(atomic.Bool)

// disarm lets all objects be freed that set their finalizers again.
func disarm() {
	armed.Store(false)
	armed = new(atomic.Bool)
	for range 3 {
		runtime.GC()
	}
}

func (p *phoenix) rise() {
	if p.armed.Load() {
		runtime.SetFinalizer(p, (*phoenix).rise)
	}
}

func rearm() {
	armed.Store(true)
	p := &phoenix{armed: armed}
	runtime.SetFinalizer(p, (*phoenix).rise)
}

func rearmNot() {
	p := &phoenix{armed: new(atomic.Bool)}
	runtime.SetFinalizer(p, (*phoenix).rise)
}

// A closer refers to the handle that it closes. As the argument of the handle's own cleanup, it
// keeps the handle alive.
type closer struct{ handle *handle }

func (c *closer) close() { c.handle.session.Expire() }

func cleanupOfItself() {
	h := &handle{session: app.NewSession()}
	runtime.AddCleanup(h, (*closer).close, &closer{h})
}

func cleanupOfPart() {
	h := &handle{session: app.NewSession()}
	runtime.AddCleanup(h, (*app.Session).Expire, h.session)
}

func cleanupsOfOne(fixed bool) judge.Setup {
	return func(*testing.T) func() {
		server := &handle{session: app.NewSession()}
		return func() {
			c := runtime.AddCleanup(server, (*app.Session).Expire, app.NewSession())
			if fixed {
				c.Stop()
			}
			runtime.KeepAlive(server)
		}
	}
}

// Two objects, each with a cleanup that refers to the other.
func cleanupCycle() {
	a, b := &buffer{}, &buffer{}
	runtime.AddCleanup(a, (*buffer).drop, b)
	runtime.AddCleanup(b, (*buffer).drop, a)
}

func cleanupLine() {
	a, b := &buffer{}, &buffer{}
	runtime.AddCleanup(a, (*buffer).drop, b)
	runtime.AddCleanup(b, func(int) {}, 0)
}

// Each object of a chain is freed one garbage collection after the object that refers to it.
func openChain() {
	a, b := &half{}, &half{}
	a.other = b
	runtime.SetFinalizer(a, (*half).close)
	runtime.SetFinalizer(b, (*half).close)
}

func reviveOnce() {
	p := &phoenix{armed: new(atomic.Bool)}
	runtime.SetFinalizer(p, func(p *phoenix) { runtime.SetFinalizer(p, (*phoenix).rise) })
}
