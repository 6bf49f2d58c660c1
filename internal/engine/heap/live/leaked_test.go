//go:build go1.26

package live_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/heap/live"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/runtime/gstate"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/heaptest"
	"github.com/leakgate/leakgate/internal/testkit/pproftest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A gate is what goroutines of a case wait at, and what ends their wait. Only the goroutines hold
// it, unless the case says otherwise; the test has a weak pointer to it.
type gate struct {
	c, d    chan int
	mu      sync.Mutex
	rw      sync.RWMutex
	wg      sync.WaitGroup
	cond    *sync.Cond
	once    sync.Once
	next    *gate
	ballast []byte

	messages chan *message
	gates    chan *gate
}

func receiveMessage(g *gate) { <-g.messages }

func newGate() *gate {
	g := &gate{c: make(chan int), d: make(chan int)}
	g.cond = sync.NewCond(&g.mu)
	return g
}

var (
	heldGate    *gate         // a package variable that reaches a gate
	globalMutex sync.Mutex    // a waker that is a package variable itself
	withCleanup = new([4]int) // something that lives, to hang a finalizer on
)

const ballast = 100 << 10

// A leakCase is a program with goroutines. wake ends them.
type leakCase struct {
	name    string
	leaked  int // goroutines
	running int // goroutines that may run
	start   func(g *gate)
	wake    func(g *gate)
	missed  bool // by the runtime's own profile
}

// message is what goroutines of cases send on channels.
type message struct{ _ [4]*int }

// timedOut is a fetch whose caller stopped waiting: nobody will receive what the goroutine sends.
//
//go:noinline
func timedOut(g *gate) {
	answer, late := make(chan *message), make(chan bool)
	go func() {
		<-late
		m := &message{}
		answer <- m
		runtime.KeepAlive(g)
	}()
	select {
	case <-answer:
	case <-time.After(time.Microsecond):
	}
	close(late)
	g.messages = answer
}

type job struct {
	c chan *message
	m *message
	g *gate
}

//go:noinline
func (j *job) run() {
	j.c <- j.m
	runtime.KeepAlive(j.g)
}

// stay keeps the gate on the goroutine's stack while it waits.
func stay(g *gate, wait func(*gate)) func() {
	return func() {
		wait(g)
		runtime.KeepAlive(g)
	}
}

func receive(g *gate) { <-g.c }
func closeC(g *gate)  { close(g.c) }

var leakCases = []leakCase{
	{"receive", 1, 0, func(g *gate) { go stay(g, receive)() }, closeC, false},
	{"send", 1, 0, func(g *gate) { go stay(g, func(g *gate) { g.c <- 1 })() }, receive, false},
	{"full buffer as semaphore", 1, 0, func(g *gate) {
		g.c = make(chan int, 1)
		g.c <- 1
		go stay(g, func(g *gate) { g.c <- 1 })()
	}, receive, false},
	{"range", 1, 0, func(g *gate) {
		go stay(g, func(g *gate) {
			for range g.c {
			}
		})()
	}, closeC, false},
	{"select", 1, 0, func(g *gate) {
		go stay(g, func(g *gate) {
			select {
			case <-g.c:
			case g.d <- 1:
			}
		})()
	}, closeC, false},
	{"select, one channel is reachable", 0, 1, func(g *gate) {
		heldGate = newGate()
		c := heldGate.c
		go stay(g, func(g *gate) {
			select {
			case <-c:
			case g.d <- 1:
			}
		})()
	}, func(*gate) { close(heldGate.c) }, false},
	{"mutex", 1, 0, func(g *gate) { g.mu.Lock(); go stay(g, func(g *gate) { g.mu.Lock() })() }, func(g *gate) { g.mu.Unlock() }, false},
	{"two wait for a mutex", 2, 0, func(g *gate) {
		g.mu.Lock()
		for range 2 {
			go stay(g, func(g *gate) { g.mu.Lock(); defer g.mu.Unlock() })()
		}
	}, func(g *gate) { g.mu.Unlock() }, false},
	{"read lock", 1, 0, func(g *gate) { g.rw.Lock(); go stay(g, func(g *gate) { g.rw.RLock() })() }, func(g *gate) { g.rw.Unlock() }, false},
	{"write lock", 1, 0, func(g *gate) { g.rw.RLock(); go stay(g, func(g *gate) { g.rw.Lock() })() }, func(g *gate) { g.rw.RUnlock() }, false},
	{"condition", 1, 0, func(g *gate) {
		go stay(g, func(g *gate) {
			g.mu.Lock()
			g.cond.Wait()
			g.mu.Unlock()
		})()
	}, func(g *gate) { g.cond.Broadcast() }, false},
	{"wait group", 1, 0, func(g *gate) { g.wg.Add(1); go stay(g, func(g *gate) { g.wg.Wait() })() }, func(g *gate) { g.wg.Done() }, false},
	{"once in progress", 2, 0, func(g *gate) {
		first := make(chan struct{})
		go stay(g, func(g *gate) { g.once.Do(func() { close(first); <-g.c }) })()
		<-first
		go stay(g, func(g *gate) { g.once.Do(func() {}) })()
	}, closeC, false},
	{"once in progress, the first may go on", 0, 2, func(g *gate) {
		heldGate = newGate()
		first, c := make(chan struct{}), heldGate.c
		go stay(g, func(g *gate) { g.once.Do(func() { close(first); <-c }) })()
		<-first
		go stay(g, func(g *gate) { g.once.Do(func() {}) })()
	}, func(*gate) { close(heldGate.c) }, false},
	{"mutex in a package variable", 0, 1, func(g *gate) {
		globalMutex.Lock()
		go stay(g, func(*gate) { globalMutex.Lock(); defer globalMutex.Unlock() })()
	}, func(*gate) { globalMutex.Unlock() }, false},
	{"gate in a package variable", 0, 1, func(g *gate) { heldGate = g; go stay(g, func(g *gate) { g.wg.Wait() })() }, func(g *gate) { g.wg.Done() }, false},
	{"chain from a package variable", 0, 3, func(g *gate) {
		g.next = newGate()
		g.next.next = newGate()
		heldGate = newGate()
		a, b, c := heldGate.c, g.next, g.next.next
		go stay(b, func(b *gate) { <-a; close(b.c) })()
		go stay(c, func(c *gate) { <-b.c; close(c.c) })()
		go func() { <-c.c }()
	}, func(*gate) { close(heldGate.c) }, false},
	{"ring", 2, 0, func(g *gate) {
		go stay(g, func(g *gate) { <-g.c; close(g.d) })()
		go stay(g, func(g *gate) { <-g.d })()
	}, closeC, false},
	{"send of a captured pointer", 1, 0, func(g *gate) {
		c, m := make(chan *message), &message{}
		g.messages = c
		go func() { c <- m; runtime.KeepAlive(g) }()
	}, receiveMessage, true},
	{"send of a captured number", 1, 0, func(g *gate) {
		c, n := g.c, len(g.ballast)
		go func() { c <- n; runtime.KeepAlive(g) }()
	}, func(g *gate) { <-g.c }, true},
	{"send of a captured variable", 1, 0, func(g *gate) {
		c, n := g.c, len(g.ballast)
		send := func() { c <- n; runtime.KeepAlive(g) }
		n++ // so that it is captured by reference
		go send()
	}, func(g *gate) { <-g.c }, false},
	{"send of a field", 1, 0, func(g *gate) {
		g.messages = make(chan *message)
		go (&job{g.messages, &message{}, g}).run()
	}, receiveMessage, true},
	{"fetch that nobody waits for", 1, 0, func(g *gate) {
		timedOut(g)
	}, receiveMessage, false},
	{"select that sends captured variables", 1, 0, func(g *gate) {
		c, d, n := g.c, g.d, len(g.ballast)
		go func() {
			select {
			case c <- n:
			case d <- n:
			}
			runtime.KeepAlive(g)
		}()
	}, func(g *gate) { <-g.c }, false},
	{"send of a captured pointer to one who may come", 0, 1, func(g *gate) {
		c, m := make(chan *message), &message{}
		heldGate = newGate()
		heldGate.messages = c
		go func() { c <- m; runtime.KeepAlive(g) }()
	}, func(*gate) { <-heldGate.messages }, false},
	{"send of what another one waits for", 0, 2, func(g *gate) {
		c := make(chan *gate)
		heldGate = newGate()
		heldGate.gates = c
		go func() { c <- g }()
		go stay(g, receive)()
	}, func(g *gate) { close(g.c); <-heldGate.gates }, false},
	{"sleep", 0, 1, func(g *gate) { go stay(g, func(*gate) { time.Sleep(2 * time.Second) })() }, func(*gate) {}, false},
	{"timer", 0, 1, func(g *gate) {
		go stay(g, func(g *gate) {
			select {
			case <-time.After(time.Hour):
			case <-g.c:
			}
		})()
	}, closeC, false},
	{"stopped timer", 1, 0, func(g *gate) {
		timer := time.NewTimer(time.Hour)
		timer.Stop()
		go stay(g, func(g *gate) {
			select {
			case <-timer.C:
			case <-g.c:
			}
		})()
	}, closeC, false},
	{"context with a deadline", 0, 1, func(g *gate) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		go stay(g, func(g *gate) {
			defer cancel()
			select {
			case <-ctx.Done():
			case <-g.c:
			}
		})()
	}, closeC, false},
	{"context without cancel", 1, 0, func(g *gate) {
		ctx, cancel := context.WithCancel(context.Background())
		go stay(g, func(g *gate) {
			defer cancel()
			select {
			case <-ctx.Done():
			case <-g.c:
			}
		})()
	}, closeC, false},
	{"network", 0, 1, func(g *gate) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		endPoll = l.Close
		go stay(g, func(*gate) { _, _ = l.Accept() })()
	}, func(*gate) { _ = endPoll() }, false},
	{"pipe", 0, 1, func(g *gate) {
		r, w, err := os.Pipe()
		if err != nil {
			panic(err)
		}
		endPoll = w.Close
		go stay(g, func(*gate) { _, _ = r.Read(make([]byte, 1)) })()
	}, func(*gate) { _ = endPoll() }, false},
	{"finalizer", 0, 1, func(g *gate) {
		runtime.SetFinalizer(withCleanup, func(*[4]int) { close(g.c) })
		go stay(g, receive)()
	}, func(g *gate) { runtime.SetFinalizer(withCleanup, nil); close(g.c) }, false},
	{"cleanup", 0, 1, func(g *gate) {
		go stay(g, receive)()
		stopCleanup = runtime.AddCleanup(withCleanup, func(g *gate) { close(g.c) }, g)
	}, func(g *gate) { stopCleanup.Stop(); close(g.c) }, false},
	{"weak pointer", 1, 0, func(g *gate) { weakGate = weak.Make(g); go stay(g, receive)() }, closeC, false},
	{"timer function", 0, 1, func(g *gate) {
		time.AfterFunc(time.Hour, func() { g.next = nil })
		go stay(g, receive)()
	}, closeC, false},
	{"parent waits for its child", 2, 0, func(g *gate) {
		go stay(g, func(g *gate) {
			var group sync.WaitGroup
			group.Go(func() { <-g.c })
			group.Wait()
		})()
	}, closeC, false},
	{"held by one that runs", 0, 2, func(g *gate) {
		go stay(g, receive)()
		go stay(g, func(g *gate) { time.Sleep(2 * time.Second); close(g.c) })()
	}, func(*gate) {}, false},
}

var (
	endPoll     func() error
	stopCleanup runtime.Cleanup
	weakGate    weak.Pointer[gate]
	reachedGate *gate
)

// startCase runs a case in a frame of its own, so that nothing of it stays on the test's stack.
//
//go:noinline
func startCase(c leakCase) weak.Pointer[gate] {
	heldGate = nil
	g := newGate()
	g.ballast = make([]byte, ballast)
	if c.name == "gate in a package variable" {
		g.wg.Add(1)
	}
	pprof.Do(context.Background(), pprof.Labels("case", c.name), func(context.Context) { c.start(g) })
	return weak.Make(g)
}

func TestLeakedGoroutines(t *testing.T) {
	heaptest.Long(t)
	defer func() { heldGate = nil }()
	for i, c := range leakCases {
		t.Run(c.name, func(t *testing.T) {
			if i%4 != 0 {
				require.Slow(t)
			}
			before := runtime.NumGoroutine()
			g := startCase(c)
			total := c.leaked + c.running
			waitFor(t, func() bool { return blocked(t, c.name) == total })

			mine, bytes := foundLeaks(t, c.name)
			assert.Equal(t, c.leaked, mine)
			if c.leaked > 0 {
				assert.GreaterOrEqual(t, bytes, int64(ballast), "what they keep alive, counted once")
				assert.Less(t, bytes, int64(2*ballast))
			}
			if n, ok := profiledLeaks(t, c.name); ok {
				if c.missed {
					mine = 0
				}
				assert.Equal(t, mine, n, "the runtime's own goroutineleak profile")
			}
			c.wake(reachable(t, g))
			heldGate, reachedGate = nil, nil
			waitFor(t, func() bool { return runtime.NumGoroutine() <= before })
		})
	}
}

// reachable makes a gate reachable again. If a goroutine that the runtime's profile found leaked is
// woken, the runtime throws (go1.27 runtime/proc.go, ready), unless another profile has found
// before that it is not leaked.
func reachable(t *testing.T, g weak.Pointer[gate]) *gate {
	reachedGate = g.Value()
	profiledLeaks(t, "")
	return reachedGate
}

// labelled calls visit for each goroutine of a case, with its index in the model's list.
func labelled(t *testing.T, m *goruntime.Model, name string, visit func(i int, state gstate.State)) {
	t.Helper()
	states, err := gstate.NewStates(m)
	require.NoError(t, err)
	var addrs []uint64
	for _, g := range m.Goroutines {
		if at := states.Of(g).Labels; at != 0 {
			addrs = append(addrs, at)
		}
	}
	sets := gstate.LabelSets(m, addrs)
	for i, g := range m.Goroutines {
		state := states.Of(g)
		if set := sets[state.Labels]; len(set) == 1 && set[0] == (gstate.Label{Key: "case", Value: name}) {
			visit(i, state)
		}
	}
}

// blocked counts the goroutines of a case that wait.
func blocked(t *testing.T, name string) (n int) {
	t.Helper()
	require.NoError(t, snapshot.Stacks(snapshot.Default(), func(m *goruntime.Model, _ *debuginfo.Index, _ time.Duration) error {
		labelled(t, m, name, func(_ int, state gstate.State) {
			if state.Status == "waiting" {
				n++
			}
		})
		return nil
	}))
	return n
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "it did not come to that")
	}
}

// foundLeaks counts the leaked goroutines of a case, and what they keep alive.
func foundLeaks(t *testing.T, name string) (n int, bytes int64) {
	t.Helper()
	s := heaptest.Freeze(t, false)
	found, err := live.Leaked(s.Model())
	require.NoError(t, err)
	labelled(t, s.Model(), name, func(i int, _ gstate.State) {
		for _, l := range found {
			if l.Index == i {
				n++
				bytes += l.Bytes
			}
		}
	})
	require.NoError(t, s.Close())
	return n, bytes
}

func leaks(t *testing.T, name string) int {
	n, _ := foundLeaks(t, name)
	return n
}

// profiledLeaks counts the goroutines of a case in the runtime's own profile; ok is false if there
// is no such profile. It exists from go1.27 on, and in go1.26 with
// GOEXPERIMENT=goroutineleakprofile.
func profiledLeaks(t *testing.T, name string) (n int, ok bool) {
	leaks := pprof.Lookup("goroutineleak")
	if leaks == nil {
		return 0, false
	}
	var b bytes.Buffer
	require.NoError(t, leaks.WriteTo(&b, 0))
	p, err := pproftest.Parse(&b)
	require.NoError(t, err)
	for _, s := range p.Sample {
		if len(s.Label["case"]) == 1 && s.Label["case"][0] == name {
			n += int(s.Value[0])
		}
	}
	return n, true
}

// TestLeakedNever has waits that nothing can end. These goroutines stay until the process ends.
func TestLeakedNever(t *testing.T) {
	heaptest.Long(t)
	var none chan int
	for name, wait := range map[string]func(){
		"nil receive":  func() { <-none },
		"nil send":     func() { none <- 1 },
		"empty select": func() { select {} },
		"nil in select": func() {
			select {
			case <-none:
			case none <- 1:
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			pprof.Do(context.Background(), pprof.Labels("case", name), func(context.Context) { go wait() })
			waitFor(t, func() bool { return blocked(t, name) == 1 })
			assert.Equal(t, 1, leaks(t, name))
			if n, ok := profiledLeaks(t, name); ok {
				assert.Equal(t, 1, n)
			}
		})
	}
}

// TestLeakedInBubble is one of two cases in which the oracles differ: the runtime never reports a
// goroutine of a bubble.
func TestLeakedInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := leakCases[0]
		g := startCase(c)
		synctest.Wait()
		assert.Equal(t, 1, leaks(t, c.name))
		if n, ok := profiledLeaks(t, c.name); ok {
			assert.Zero(t, n)
		}
		c.wake(reachable(t, g))
		synctest.Wait()
	})
}

// TestLeakedWithDeferredCalls is the other case: the runtime treats as reachable what calls refer
// to that were deferred in a loop, since it finds their records through the goroutine's own.
func TestLeakedWithDeferredCalls(t *testing.T) {
	c := leakCase{name: "deferred", start: func(g *gate) {
		go func() {
			for range 2 {
				defer func() { g.next = nil }()
			}
			<-g.c
		}()
	}}
	before := runtime.NumGoroutine()
	g := startCase(c)
	waitFor(t, func() bool { return blocked(t, c.name) == 1 })
	assert.Equal(t, 1, leaks(t, c.name))
	if n, ok := profiledLeaks(t, c.name); ok {
		assert.Zero(t, n)
	}
	close(reachable(t, g).c)
	waitFor(t, func() bool { return runtime.NumGoroutine() <= before })
}

// TestLeakedMany has thousands of goroutines in a chain, of which the last one can be woken, and
// thousands that are leaked.
func TestLeakedMany(t *testing.T) {
	n := require.Rounds(1_000, 5_000)
	defer func() { heldGate = nil }()
	build := func() weak.Pointer[gate] {
		g := newGate()
		last := g.c
		for range n {
			next := make(chan int)
			go func(mine, next chan int) {
				<-mine
				close(next)
			}(next, last)
			last = next
		}
		heldGate = &gate{c: last}
		lost := newGate()
		for range n {
			go stay(lost, receive)()
		}
		return weak.Make(lost)
	}
	before := runtime.NumGoroutine()
	var lost weak.Pointer[gate]
	pprof.Do(context.Background(), pprof.Labels("case", "many"), func(context.Context) { lost = build() })
	waitFor(t, func() bool { return blocked(t, "many") == 2*n }) // those of an earlier test may end meanwhile
	p := heaptest.Freeze(t, true)
	found, err := live.Leaked(p.Model())
	require.NoError(t, err)
	states, err := gstate.NewStates(p.Model())
	require.NoError(t, err)
	mine := 0
	for _, l := range found {
		g := p.Model().Goroutines[l.Index]
		if f := p.Model().FuncAt(g.GoPC); f != nil && f.Name == "github.com/leakgate/leakgate/internal/engine/heap/live_test.TestLeakedMany.func2" && states.Of(g).WaitReason == "chan receive" {
			mine++
		}
	}
	require.NoError(t, p.Close())
	assert.Equal(t, n, mine)
	close(lost.Value().c)
	close(heldGate.c)
	waitFor(t, func() bool { return runtime.NumGoroutine() <= before })
}
