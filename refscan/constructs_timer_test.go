package refscan_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// timerRoot returns the root of timers with a name, nil if the report has none. It fails the test
// if another root leads to the heaps that the runtime keeps timers in.
func timerRoot(t *testing.T, r *refscan.Report, name string) *refscan.Node {
	t.Helper()
	var found *refscan.Node
	var walk func(path string, n *refscan.Node)
	walk = func(path string, n *refscan.Node) {
		path = symbol.JoinPath(path, n.Name)
		require.False(t, strings.HasPrefix(path, "runtime.allp") && strings.Contains(path, "timers"), path)
		for _, c := range n.Children {
			walk(path, c)
		}
	}
	for _, n := range r.Fold().Roots {
		walk("", n)
		require.Equal(t, n.Root.Kind == refscan.RootTimer, strings.HasPrefix(n.Name, "timer("), n.Name)
		require.Equal(t, n.Root.Kind == refscan.RootTimer, n.Root.Timers > 0, n.Name)
		if n.Name == name {
			found = n
		}
	}
	return found
}

// path returns the node below n that is reached by these names.
func path(t *testing.T, n *refscan.Node, names ...string) *refscan.Node {
	t.Helper()
	require.NotNil(t, n)
	for _, name := range names {
		var next *refscan.Node
		for _, c := range n.Children {
			if c.Name == name {
				next = c
			}
		}
		require.NotNil(t, next, "%s has no %s", n.Name, name)
		n = next
	}
	return n
}

// dueIn requires that timers which were set for d a while ago are due at about that time.
func dueIn(t *testing.T, n *refscan.Node, d time.Duration) {
	t.Helper()
	require.LessOrEqual(t, n.Root.DueFirst, n.Root.DueLast)
	require.LessOrEqual(t, n.Root.DueLast, d)
	require.Greater(t, n.Root.DueFirst, d-10*time.Minute, "when tests take longer they are stopped")
}

// hidden are the addresses of timers that only the runtime holds. Tests stop the timers by these at
// the end.
var hidden []uintptr

func hide(timer *time.Timer) { hidden = append(hidden, addressOf(timer)) }

func stopHidden() {
	for _, at := range hidden {
		(*(**time.Timer)(unsafe.Pointer(&at))).Stop()
	}
	hidden = nil
}

type lease struct{ p *cargo }

func (l *lease) expire() { use(l.p) }

//go:noinline
func hideLease(d time.Duration) { hide(time.AfterFunc(d, (&lease{newCargo()}).expire)) }

//go:noinline
func hideLiteral(d time.Duration) {
	p := newCargo()
	hide(time.AfterFunc(d, func() { use(p) }))
}

type requestKey struct{}

//go:noinline
func contextOf(p *cargo) context.Context {
	return context.WithValue(context.Background(), requestKey{}, p)
}

// ownContext is a context of a type that package context does not know.
type ownContext struct {
	context.Context
	p *cargo
}

func (c *ownContext) Value(key any) any { return c.Context.Value(key) }

// forgetCancel forgets a context with a time limit, whose timer fires at the end.
//
//go:noinline
func forgetCancel(parent context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(parent, d)
	_, _ = ctx, cancel
}

// dropCancel forgets a context with a time limit, whose timer stopHidden stops.
//
//go:noinline
func dropCancel(parent context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(parent, d)
	_ = cancel
	hide((*time.Timer)(reflect.ValueOf(ctx).Elem().FieldByName("timer").UnsafePointer()))
}

//go:noinline
func dropOwn(d time.Duration) { dropCancel(&ownContext{context.Background(), newCargo()}, d) }

var gContextTree struct {
	ctx    context.Context
	cancel context.CancelFunc
}

// Timers that only the runtime holds are roots of what they would run.
func TestTimerRoots(t *testing.T) {
	const twoHours = 2 * time.Hour
	t.Run("method value", func(t *testing.T) {
		defer stopHidden()
		for range 3 {
			hideLease(twoHours)
		}
		name := "timer(" + pkg + "(*lease).expire)"
		r := holds(t, map[string]int64{name + ".$fn.$recv.p": 3})
		n := timerRoot(t, r, name)
		require.NotNil(t, n)
		require.EqualValues(t, 3, n.Root.Timers)
		require.Equal(t, strings.TrimSuffix(pkg, "."), n.Root.Package)
		require.Empty(t, n.Root.File, "the compiler made the function of the method value")
		require.Zero(t, n.Root.Period)
		dueIn(t, n, twoHours)
		require.Zero(t, untypedBelow(n))
		require.EqualValues(t, 3, path(t, n, "$timer").Objects)
		require.Equal(t, "*time.Timer", path(t, n, "$timer").Type)
	})
	t.Run("function literal", func(t *testing.T) {
		defer stopHidden()
		hideLiteral(twoHours)
		name := "timer(" + pkg + "hideLiteral.func1)"
		n := timerRoot(t, holds(t, map[string]int64{name + ".$fn.p": 1}), name)
		require.NotNil(t, n)
		require.Contains(t, n.Root.File, "constructs_timer_test.go")
		require.Positive(t, n.Root.Line)
	})
	t.Run("as late as can be", func(t *testing.T) {
		defer stopHidden()
		hideLiteral(1<<63 - 1)
		name := "timer(" + pkg + "hideLiteral.func1)"
		n := timerRoot(t, holds(t, map[string]int64{name + ".$fn.p": 1}), name)
		require.Greater(t, n.Root.DueFirst, 200*365*24*time.Hour)
	})
	t.Run("context", func(t *testing.T) {
		defer stopHidden()
		dropCancel(contextOf(newCargo()), time.Hour)
		const name = "timer(context.WithTimeout)"
		r := holds(t, map[string]int64{name + ".$fn.c.cancelCtx.Context.val": 1})
		n := timerRoot(t, r, name)
		require.Equal(t, "*context.timerCtx", path(t, n, "$fn", "c").Type)
		require.Equal(t, "context", n.Root.Package)
		require.EqualValues(t, 1, n.Root.Timers)
		dueIn(t, n, time.Hour)
		require.Zero(t, untypedBelow(n))
	})
	t.Run("context with a parent of its own type", func(t *testing.T) {
		defer stopHidden()
		dropOwn(time.Hour)
		const name = "timer(context.WithTimeout)"
		require.NotNil(t, timerRoot(t, holds(t, map[string]int64{name + ".$fn.c.cancelCtx.Context.p": 1}), name))
	})
	t.Run("child of a context that a variable holds", func(t *testing.T) {
		gContextTree.ctx, gContextTree.cancel = context.WithCancel(contextOf(newCargo()))
		defer func() { gContextTree.cancel(); gContextTree.ctx, gContextTree.cancel = nil, nil }()
		for range 5 {
			dropCancel(gContextTree.ctx, time.Hour)
		}
		r := holds(t, map[string]int64{"gContextTree.ctx.Context.val": 1})
		require.Nil(t, timerRoot(t, r, "timer(context.WithTimeout)"), "the variable is the better culprit")
		require.EqualValues(t, 5, at(t, r, "gContextTree", "ctx", "children", "$mapkey").Objects)
	})
	t.Run("stopped", func(t *testing.T) {
		for range 20 {
			hideLiteral(twoHours)
		}
		stopHidden()
		s, err := refscan.Capture(refscan.WithLog(t.Logf))
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		r, err := s.Scan()
		require.NoError(t, err)
		sound(t, r)
		require.Nil(t, timerRoot(t, r, "timer("+pkg+"hideLiteral.func1)"))
		for where := range cargoes(t, r) {
			require.True(t, strings.HasPrefix(where, "runtime.(timers).heap"), "the runtime has not come across them yet: %s", where)
		}
	})
	timersOfConnections(t)
	t.Run("ticker that a goroutine waits for", func(t *testing.T) {
		done := make(chan bool)
		defer func() { done <- true }()
		ticker := make(chan bool)
		go func() {
			tick := time.NewTicker(time.Hour)
			defer tick.Stop()
			ticker <- true
			select {
			case <-tick.C:
			case <-done:
			}
		}()
		<-ticker
		require.Nil(t, timerRoot(t, holds(t, map[string]int64{}), "timer(time.Ticker)"), "the goroutine has it")
	})
}

// timersOfConnections tests pipes, whose timers are on the heap, and connections, whose timers are
// outside it.
func timersOfConnections(t *testing.T) {
	t.Helper()
	t.Run("deadline of a pipe", func(t *testing.T) {
		defer stopHidden()
		hidePipe(t)
		n := timerRoot(t, holds(t, map[string]int64{}), "timer(net.(*pipe).SetDeadline)")
		require.NotNil(t, n)
		require.EqualValues(t, 2, n.Root.Timers, "one for reading, one for writing")
		require.Equal(t, "net", n.Root.Package)
		dueIn(t, n, time.Hour)
	})
	t.Run("deadline of a connection", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		c, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, c.SetDeadline(time.Now().Add(time.Hour)))
		timerRoot(t, holds(t, map[string]int64{}), "")
	})
	t.Run("time limits of a server", func(t *testing.T) {
		before := runtime.NumGoroutine()
		// What goroutines hold that end between the collection and the freeze counts as missed by
		// the next scan. Those of the connection, 250 objects, end after Close has returned.
		defer waitFor(t, func() bool { return runtime.NumGoroutine() <= before })
		srv := httptest.NewUnstartedServer(http.NotFoundHandler())
		srv.Config.ReadTimeout, srv.Config.WriteTimeout, srv.Config.IdleTimeout = time.Hour, time.Hour, time.Hour
		srv.EnableHTTP2 = true
		srv.StartTLS()
		defer srv.Close()
		resp, err := srv.Client().Get(srv.URL)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, 2, resp.ProtoMajor)
		timerRoot(t, holds(t, map[string]int64{}), "")
	})
}

// hidePipe forgets a pipe with deadlines.
//
//go:noinline
func hidePipe(t *testing.T) {
	a, _ := net.Pipe()
	require.NoError(t, a.SetDeadline(time.Now().Add(time.Hour)))
	pipe := reflect.ValueOf(a).Elem()
	for _, field := range []string{"readDeadline", "writeDeadline"} {
		hide((*time.Timer)(pipe.FieldByName(field).FieldByName("timer").UnsafePointer()))
	}
}
