// Package caches leaks by pools, caches, and package sync.
package caches

import (
	"bytes"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/corpus/app"
	"example.com/corpus/internal/judge"
)

// Group is the cases of the package.
var Group = judge.Group{Name: "caches", Cases: []judge.Case{
	{Name: "OwnPool", Leak: freeList(false), Fixed: freeList(true), Grows: judge.Objects, Culprit: `caches\.free`},
	{Name: "SyncMap", Leak: syncMap(false), Fixed: syncMap(true), Grows: judge.Objects, Culprit: `caches\.online`},
	{Name: "LoadOrStore", Leak: keyLocks(false), Fixed: keyLocks(true), Grows: judge.Objects, Culprit: `caches\.locks`},
	{Name: "AtomicStack", Leak: atomicStack(false), Fixed: atomicStack(true), Grows: judge.Objects, Culprit: `caches\.top`},
	{Name: "CopyOnWrite", Leak: copyOnWrite(false), Fixed: copyOnWrite(true), Grows: judge.Objects, Culprit: `caches\.routes`},
	{Name: "AtomicPointer", Leak: configs(false), Fixed: configs(true), Grows: judge.Objects, Culprit: `caches\.config`},
	{Name: "Expiring", Leak: expiring(false), Fixed: expiring(true), Grows: judge.Objects, Culprit: `caches\.pages`},
	{Name: "Memo", Leak: memo(false), Fixed: memo(true), Grows: judge.Objects, Culprit: `caches\.results`},
	{Name: "OnceValues", Leak: onceValues(false), Fixed: onceValues(true), Grows: judge.Objects, Culprit: `caches\.lazily`},
	{Name: "RateLimiters", Leak: limiters(false), Fixed: limiters(true), Grows: judge.Objects, Culprit: `caches\.byAddress`},
	{Name: "BuffersKept", Leak: buffers(false), Fixed: buffers(true), Grows: judge.Bytes(10_000), Culprit: `caches\.spare`},
	{Name: "Singleton", Leak: singletons(false), Fixed: singletons(true), Grows: judge.Objects, Culprit: `caches\.(instance|registry)`},
	{Name: "CoolingDown", Leak: coolingDown(false), Fixed: coolingDown(true), Grows: judge.Entries(func() int { return len(masked.journal) }), Culprit: `caches\.masked\.journal`},
	{Name: "Numbered", Leak: numbered(false), Fixed: numbered(true), Grows: judge.Entries(func() int { return len(masked.byNumber) }), Culprit: `caches\.masked\.byNumber`},
	// While there are idle pages, no object is new, so that the allocator's counters do not show
	// this leak. With Calls, AssertNoGrowth does not use the counters.
	{Name: "Borrowed", Leak: borrowed(false), Fixed: borrowed(true), Grows: judge.Entries(func() int { return masked.nBusy }), Culprit: `caches\.masked\.busy`, Calls: 20},

	{Name: "SyncPool", Healthy: syncPool, Grows: judge.Bytes(10_000)},
	{Name: "PoolOfPools", Healthy: judge.Op(manyPools), Grows: judge.Objects},
	{Name: "SyncMapDeleted", Healthy: syncMap(true), Grows: judge.Objects},
	{Name: "CopyOnWriteOfFixedSize", Healthy: copyOnWrite(true), Grows: judge.Objects},
	{Name: "Filling", Healthy: filling, Grows: judge.Objects},
	{Name: "Outbox", Healthy: outbox, Grows: judge.Objects},
}}

// free has buffers for reuse, which the leak never takes out again.
var free struct {
	mu   sync.Mutex
	list []*bytes.Buffer
}

func get(fixed bool) *bytes.Buffer {
	free.mu.Lock()
	defer free.mu.Unlock()
	if n := len(free.list); fixed && n > 0 {
		b := free.list[n-1]
		free.list = free.list[:n-1]
		return b
	}
	return new(bytes.Buffer)
}

func put(b *bytes.Buffer) {
	free.mu.Lock()
	defer free.mu.Unlock()
	b.Reset()
	free.list = append(free.list, b)
}

func freeList(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { free.list = nil })
		return func() {
			b := get(fixed)
			b.WriteString("text")
			put(b)
		}
	}
}

var online sync.Map

func syncMap(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(online.Clear)
		return func() {
			s := app.NewSession()
			online.Store(s.ID, s)
			if fixed {
				online.Delete(s.ID)
			}
		}
	}
}

// locks has a mutex for each key that was ever locked.
var locks sync.Map

func keyLocks(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(locks.Clear)
		return func() {
			key := app.Next()
			mu, _ := locks.LoadOrStore(key, new(sync.Mutex))
			mu.(*sync.Mutex).Lock()
			defer mu.(*sync.Mutex).Unlock()
			if fixed {
				locks.Delete(key)
			}
		}
	}
}

type item struct {
	next    *item
	session *app.Session
}

var top atomic.Pointer[item]

func atomicStack(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { top.Store(nil) })
		return func() {
			it := &item{top.Load(), app.NewSession()}
			for !top.CompareAndSwap(it.next, it) {
				it.next = top.Load()
			}
			if fixed {
				top.CompareAndSwap(it, it.next)
			}
		}
	}
}

var routes atomic.Value

func copyOnWrite(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		routes.Store([]*app.Session{})
		t.Cleanup(func() { routes.Store([]*app.Session{}) })
		return func() {
			old := routes.Load().([]*app.Session)
			if fixed && len(old) > 10 {
				old = old[1:]
			}
			routes.Store(append(append([]*app.Session(nil), old...), app.NewSession()))
		}
	}
}

// A settings refers to the settings that it replaced.
type settings struct {
	text     string
	replaced *settings
}

var config atomic.Pointer[settings]

func configs(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { config.Store(nil) })
		return func() {
			next := &settings{text: app.NewSession().ID, replaced: config.Load()}
			if fixed {
				next.replaced = nil
			}
			config.Store(next)
		}
	}
}

type cachedPage struct {
	text    []byte
	expires time.Time
}

var pages = map[string]*cachedPage{}

// expiring has entries that expire. The leak never deletes them, since nobody asks for them again.
func expiring(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(pages) })
		return func() {
			if fixed {
				for key, p := range pages {
					if !time.Now().Before(p.expires) {
						delete(pages, key)
					}
				}
			}
			pages[app.NewSession().ID] = &cachedPage{make([]byte, 100), time.Now()}
		}
	}
}

type arguments struct{ from, to int }

var results = map[arguments]*app.Session{}

func memo(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(results) })
		return func() {
			n := app.Next()
			if fixed {
				n %= 10
			}
			key := arguments{n, n + 1}
			if results[key] == nil {
				results[key] = app.NewSession()
			}
		}
	}
}

var lazily []func() *app.Session

func onceValues(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { lazily = nil })
		return func() {
			if fixed {
				lazily = lazily[:0]
			}
			lazily = append(lazily, sync.OnceValue(app.NewSession))
		}
	}
}

// A limiter counts the requests that an address has left.
type limiter struct {
	mu   sync.Mutex
	left int
	last time.Time
}

var byAddress sync.Map

func limiters(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(byAddress.Clear)
		return func() {
			address := app.Next()
			if fixed {
				address %= 10
			}
			l, _ := byAddress.LoadOrStore(address, &limiter{left: 10})
			l.(*limiter).left--
		}
	}
}

// spare has the buffer of each worker. A buffer keeps its largest size.
var spare = map[int]*bytes.Buffer{}

func buffers(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(spare) })
		return func() {
			worker := app.Next()
			if fixed {
				worker %= 4
			}
			if spare[worker] == nil {
				spare[worker] = new(bytes.Buffer)
			}
			spare[worker].Write(make([]byte, 10_000))
			spare[worker].Reset()
		}
	}
}

// A component registers itself when it is made.
type component struct {
	name    string
	session *app.Session
}

type componentRegistry struct {
	mu  sync.RWMutex
	all map[string]*component
}

var registry = &componentRegistry{all: map[string]*component{}}

func (r *componentRegistry) add(c *component) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[c.name] = c
}

func (r *componentRegistry) remove(c *component) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, c.name)
}

func singletons(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(registry.all) })
		return func() {
			s := app.NewSession()
			c := &component{s.ID, s}
			registry.add(c)
			if fixed {
				registry.remove(c)
			}
		}
	}
}

func syncPool(*testing.T) func() {
	pool := sync.Pool{New: func() any { return new(bytes.Buffer) }}
	return func() {
		b := pool.Get().(*bytes.Buffer)
		b.Reset()
		b.Write(make([]byte, 10_000))
		pool.Put(b)
	}
}

// A pool that is dropped is freed, with its content, after two garbage collections.
func manyPools() {
	pool := &sync.Pool{New: func() any { return app.NewSession() }}
	pool.Put(pool.Get())
}

// A cache that is full after the first calls.
func filling(*testing.T) func() {
	cache := map[int]*app.Session{}
	n := 0
	return func() {
		n++
		cache[n%30] = app.NewSession()
	}
}

// outbox collects sessions until none has come for 10 ms, and then drops them all at once. The
// slice is reused, and keeps as many sessions as ever waited together.
func outbox(t *testing.T) func() {
	var (
		mu      sync.Mutex
		waiting []*app.Session
	)
	flush := time.AfterFunc(time.Hour, func() {
		mu.Lock()
		defer mu.Unlock()
		waiting = waiting[:0]
	})
	t.Cleanup(func() { flush.Stop() })
	return func() {
		mu.Lock()
		defer mu.Unlock()
		waiting = append(waiting, app.NewSession())
		flush.Reset(10 * time.Millisecond)
	}
}
