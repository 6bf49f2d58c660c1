package source

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// module writes the files of a module example.com/app, and returns a finder of its sources.
func module(t *testing.T, files map[string]string) (dir string, f *Finder) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o666))
	}
	return dir, &Finder{Dirs: map[string]string{"example.com/app": dir}}
}

const handingSource = `package app

import (
	"context"
	"net"
	"os"

	"example.com/app/wire"
)

type Client struct{}

func (c *Client) Close() error { return nil }

func New() *Client { return &Client{} }

func NewPair() (a, _ *Client, err error) { return &Client{}, nil, nil }

func (*Client) Session() *Session { return &Session{} }

type Session struct{}

func (s *Session) Get() string { return "" }

type wrapped struct{ *Client }

func Wrap() *wrapped { return &wrapped{New()} }

type Value struct{}

func (Value) Stop() {}

func NewValue() Value { return Value{} }

type Watcher struct{ Done chan struct{} }

func Watch() *Watcher { return &Watcher{} }

func Subscribe(f func()) (cancel func()) { return func() {} }

func Open(name string) (*os.File, error) { return os.Open(name) }

func Serve(ctx context.Context, l net.Listener, _ <-chan int, jobs <-chan int) {}

func Dial() *wire.Conn { return nil }

type Hub struct{}

func (h *Hub) Register(c chan int) {}

func (h *Hub) Unregister(c chan int) {}

type Plain struct{}

func NewPlain() *Plain { return &Plain{} }

//go:noinline
func NewDirected() *Client { return nil }
`

func handingModule(t *testing.T) (dir string, f *Finder) {
	return module(t, map[string]string{"app.go": handingSource, "wire/wire.go": `package wire

type Conn struct{}

func (c *Conn) Hangup() {}

func (c *Conn) Disconnect() {}
`})
}

// A handing says what a caller is to do; where it can be seen whether it does, it has a key.
func TestHandings(t *testing.T) {
	_, f := handingModule(t)
	for function, want := range map[string][]string{
		"New":                  {"example.com/app.New: call Close of the app.Client that app.New returns"},
		"New.func1":            {"example.com/app.New: call Close of the app.Client that app.New returns"},
		"New[...].gowrap1":     {"example.com/app.New: call Close of the app.Client that app.New returns"},
		"NewPair":              {"example.com/app.NewPair: call Close of the app.Client that app.NewPair returns", "example.com/app.NewPair: call Close of the app.Client that app.NewPair returns"},
		"(*Client).Session":    {"example.com/app.Client: call Close of its *app.Client"},
		"(*Session).Get":       {"example.com/app.Client: call Close of its *app.Client"},
		"Wrap":                 {"example.com/app.Wrap: call Close of the app.wrapped that app.Wrap returns"},
		"NewValue":             {"example.com/app.Value: call Stop of the app.Value that app.NewValue returns"},
		"Watch":                {"example.com/app.Watch: close Done of the app.Watcher that app.Watch returns"},
		"Subscribe":            {"example.com/app.Subscribe: call the function that app.Subscribe returns"},
		"Open":                 {": call Close of what app.Open returns"},
		"Serve":                {"example.com/app.Serve#ctx: cancel the context that it gives to app.Serve", "example.com/app.Serve#l: call Close of the Listener that it gives to app.Serve", "example.com/app.Serve#jobs: close the channel that it gives to app.Serve"},
		"Dial":                 {"example.com/app.Dial: call Disconnect of the wire.Conn that app.Dial returns"},
		"(*Hub).Register":      {"example.com/app.Hub.Register#c: close the channel that it gives to app.Hub.Register", "example.com/app.Hub.Register: call Unregister for each Register"},
		"NewPlain":             nil,
		"(*Client).Close":      {"example.com/app.Client: call Close of its *app.Client"},
		"nosuch":               nil,
		"NewPlain.New.func1.2": {"example.com/app.New: call Close of the app.Client that app.New returns"}, // inlined
	} {
		var got []string
		for _, h := range f.Handings("example.com/app." + function) {
			got = append(got, h.Key+": "+h.Text)
		}
		require.Equal(t, want, got, function)
	}
	require.Empty(t, f.Handings("example.com/other.New"))
	require.Equal(t, "call Close of", f.Ends("example.com/app.Client"))
	require.Empty(t, f.Ends("example.com/app.Plain"))
}

// A method is no end by its name alone: one that returns a number or a channel tells something, and
// a Wait ends what it closes a channel of, or what has a part that it waits for so. A number may be
// that of an element.
func TestWhatEnds(t *testing.T) {
	_, f := module(t, map[string]string{"app.go": `package app

import "sync"

type Agenda struct{ jobs map[int]*job; all []*job }

type job struct{ id int }

func (a *Agenda) Every(seconds int64) int { return 0 }

func (a *Agenda) Stop(id int) { delete(a.jobs, id) }

func (a *Agenda) Cancel(id int) bool { return a.jobs[id] != nil }

func (a *Agenda) Remove(id int) { _ = a.all[0].id == id }

type Client struct{}

func (c *Client) Disconnect(quiesce uint) { _ = quiesce == 0 }

type Pool struct{ tasks chan func() }

func (p *Pool) Free() int { return 0 }

func (p *Pool) Done() <-chan struct{} { return nil }

func (p *Pool) Wait() { close(p.tasks) }

type Group struct{ pool Pool }

func (g *Group) Wait() error { g.pool.Wait(); return nil }

type Counter struct{ all sync.WaitGroup }

func (c *Counter) Wait() { c.all.Wait() }

type Server struct{}

func (s *Server) Stop() <-chan struct{} { return nil }

type Scheduler struct{}

func (s *Scheduler) StopJobs() error { return nil }

func (s *Scheduler) Shutdown() error { return nil }

func (s *Scheduler) ShutdownWithTimeout(seconds int) error { return nil }
`})
	known := f.of("example.com/app")
	require.False(t, known.endsUse(known.functions["Scheduler.StopJobs"].decl), "it ends a part")
	require.True(t, known.endsUse(known.functions["Scheduler.Shutdown"].decl))
	require.True(t, known.endsUse(known.functions["Scheduler.ShutdownWithTimeout"].decl))
	require.Equal(t, "call Shutdown of", f.Ends("example.com/app.Scheduler"))
	require.Equal(t, "call Wait of", f.Ends("example.com/app.Pool"))
	require.Empty(t, f.Ends("example.com/app.Agenda"), "it ends jobs, by their numbers")
	every := f.Handings("example.com/app.(*Agenda).Every")
	require.Len(t, every, 1)
	require.Equal(t, "call Cancel for each Every", every[0].Text)
	require.False(t, every[0].Container)
	require.Equal(t, "call Disconnect of", f.Ends("example.com/app.Client"))
	require.Equal(t, "call Wait of", f.Ends("example.com/app.Group"))
	require.Empty(t, f.Ends("example.com/app.Counter"))
	require.Equal(t, "call Stop of", f.Ends("example.com/app.Server"))
}

// No line moves, and nothing but calls is added. The compiler sees to the rest: the corpus of -auto
// builds what is instrumented.
func TestInstrument(t *testing.T) {
	dir, f := handingModule(t)
	text, err := f.Instrument("example.com/app", filepath.Join(dir, "app.go"), "example.com/ended")
	require.NoError(t, err)
	before, after := strings.Split(handingSource, "\n"), strings.Split(string(text), "\n")
	require.Len(t, after, len(before))
	var changed []string
	for i, line := range after {
		if line != before[i] {
			changed = append(changed, line)
		}
	}
	require.Equal(t, []string{
		`package app; import leakgateended "example.com/ended"`,
		`func (c *Client) Close() error { leakgateended.Ended(c); return nil }`,
		`func New() (leakgateresult0 *Client) { defer leakgateended.Made("example.com/app.New", &leakgateresult0); return &Client{} }`,
		`func NewPair() (a, _ *Client, err error) { defer leakgateended.Made("example.com/app.NewPair", &a); return &Client{}, nil, nil }`,
		`func Wrap() (leakgateresult0 *wrapped) { defer leakgateended.MadeField("example.com/app.Wrap", &leakgateresult0, "Client"); return &wrapped{New()} }`,
		`func (Value) Stop() { leakgateended.EndedValue("example.com/app.Value");}`,
		`func NewValue() Value { leakgateended.MadeValue("example.com/app.Value"); return Value{} }`,
		`func Watch() (leakgateresult0 *Watcher) { defer leakgateended.MadeField("example.com/app.Watch", &leakgateresult0, "Done"); return &Watcher{} }`,
		`func Subscribe(f func()) (cancel func()) { defer leakgateended.MadeFunc("example.com/app.Subscribe", &cancel); return func() {} }`,
		`func Serve(ctx context.Context, l net.Listener, _ <-chan int, jobs <-chan int) { leakgateended.Passed("example.com/app.Serve#ctx", ctx); leakgateended.Passed("example.com/app.Serve#l", l); leakgateended.Passed("example.com/app.Serve#jobs", jobs);}`,
		`func Dial() (leakgateresult0 *wire.Conn) { defer leakgateended.Made("example.com/app.Dial", &leakgateresult0); return nil }`,
		`func (h *Hub) Register(c chan int) { leakgateended.Passed("example.com/app.Hub.Register#c", c); leakgateended.Did("example.com/app.Hub.Register");}`,
		`func (h *Hub) Unregister(c chan int) { leakgateended.Passed("example.com/app.Hub.Unregister#c", c); leakgateended.Undid("example.com/app.Hub.Register");}`,
	}, changed)

	dir, f = module(t, map[string]string{"app.go": "package app\n\nfunc Add(a, b int) int { return a + b }\n"})
	text, err = f.Instrument("example.com/app", filepath.Join(dir, "app.go"), "example.com/ended")
	require.NoError(t, err)
	require.Nil(t, text, "nothing is added")
}

// Which functions undo what others do: by their names, or by the types of what they are given.
func TestUndoing(t *testing.T) {
	_, f := module(t, map[string]string{"app.go": `package app

type Hub struct{}

type Listener func()

type Lease struct{}

func (h *Hub) Subscribe(name string) {}

func (h *Hub) Unsubscribe(name string) {}

func (h *Hub) On(l *Listener) {}

func (h *Hub) Off(l *Listener) {}

func (h *Hub) Set(key string, value any) {}

func (h *Hub) Delete(key string) {}

func (h *Hub) Take() *Lease { return nil }

func (h *Hub) GiveBack(l *Lease) {}

func (h *Hub) Count(n int) {}

func Lookup(name string) {}

func Remove(name string) {}
`})
	known := f.of("example.com/app")
	for name, want := range map[string]undoing{
		"Hub.Subscribe": {by: []string{"Delete", "Unsubscribe"}},
		"Hub.On":        {by: []string{"Off"}},
		"Hub.Set":       {by: []string{"Delete", "Unsubscribe"}, container: true},
		"Hub.Take":      {by: []string{"GiveBack"}},
	} {
		require.Equal(t, want, known.undo[name], name)
	}
	for _, name := range []string{"Hub.Count", "Lookup", "Remove"} {
		require.NotContains(t, known.undo, name)
	}
}

// A sweep goes through a container by itself, removes what is older than AssertNoGrowth waits for,
// and is used.
func TestSweeps(t *testing.T) {
	_, f := module(t, map[string]string{"app.go": `package app

import "time"

const soon, later = 5 * time.Second, 10 * time.Minute

type entry struct{ at time.Time }

var old, young, read, unused, another map[string]entry

func init() { go sweepOld(); go sweepYoung(); get("") }

func sweepOld() {
	for k, e := range old {
		if time.Since(e.at) > 2*later {
			delete(old, k)
		}
	}
}

func sweepYoung() {
	for k, e := range young {
		if time.Since(e.at) > soon {
			delete(young, k)
		}
	}
}

func get(k string) {
	if e := read[k]; time.Since(e.at) > later {
		delete(read, k)
	}
}

func sweepUnused() {
	for k, e := range unused {
		if e.at.Before(time.Now()) {
			delete(unused, k)
		}
	}
}
`})
	require.Equal(t, "app.sweepOld", f.Sweeps("example.com/app", "old"))
	for _, name := range []string{"young", "read", "unused", "another"} {
		require.Empty(t, f.Sweeps("example.com/app", name), name)
	}
	require.Empty(t, f.Sweeps("example.com/other", "old"))
}

// The line that a call returns to is that of the next statement if the results are used there.
func TestCallAt(t *testing.T) {
	dir, _ := module(t, map[string]string{"app.go": `package app

func open(name string) int { return 0 }

func Use() int {
	n := open(
		"a",
	)
	return n +
		open("b")
}
`})
	at := func(line int) string { return filepath.Join(dir, "app.go") + ":" + strconv.Itoa(line) }
	require.Equal(t, at(6), CallAt(at(9), "example.com/app.open"))
	require.Equal(t, at(10), CallAt(at(10), "example.com/app.open"))
	require.Equal(t, at(9), CallAt(at(9), "example.com/app.close"), "there is no such call")
	require.Equal(t, "nosuch.go:3", CallAt("nosuch.go:3", "example.com/app.open"))
	require.Equal(t, "no line", CallAt("no line", "example.com/app.open"))
}
