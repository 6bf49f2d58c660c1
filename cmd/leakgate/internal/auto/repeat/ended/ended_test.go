package ended

import (
	"context"
	"errors"
	"net"
	"os"
	"reflect"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// counted is what is counted under a key.
func counted(key string) (found tally) {
	Each(func(of string, made, ended, nothing int64) {
		if of == key {
			found = tally{made, ended, nothing}
		}
	})
	return found
}

type client struct {
	quit chan bool
	Stop func()
	Free func(names ...string) error
}

func (c *client) Close() { Ended(c) }

type closer interface{ Close() }

func TestBegin(t *testing.T) {
	before := begun.Swap(false)
	defer begun.Store(before)
	c, stop := &client{Stop: func() {}}, func() {}
	Made("before", &c)
	MadeValue("before")
	MadeFunc("before", &stop)
	MadeWithFunc("before", &c, "Stop")
	MadeField("before", &c, "quit")
	Passed("before", c)
	Did("before")
	Ended(c)
	require.Zero(t, counted("before"))
	require.Zero(t, counted(nameOf(reflect.TypeOf(c))))
}

// An object counts once, by whichever function it was handed out, and until it is ended.
func TestMade(t *testing.T) {
	Begin()
	c := new(client)
	var as closer = c
	Made("New", &c)
	Made("New", &c)
	Made("Open", &as)
	require.Equal(t, tally{1, 0, 0}, counted("New"))
	require.Equal(t, tally{1, 0, 0}, counted("Open"))
	c.Close()
	c.Close()
	require.Equal(t, tally{1, 1, 0}, counted("New"))
	require.Equal(t, tally{1, 1, 0}, counted("Open"))
	Made("New", &c) // it comes from a pool
	require.Equal(t, tally{2, 1, 0}, counted("New"))
	c.Close()
	require.Equal(t, tally{2, 2, 0}, counted("New"))

	c, as = nil, nil
	Made("New", &c)
	Made("Open", &as)
	c.Close()
	require.Equal(t, tally{2, 2, 1}, counted("New"))
	require.Equal(t, tally{1, 1, 1}, counted("Open"))
}

// What no function handed out counts by its type.
func TestEnded(t *testing.T) {
	type zero struct{ _ [8]byte }
	key := "github.com/leakgate/leakgate/cmd/leakgate/internal/auto/repeat/ended.zero"
	Begin()
	z := new(zero)
	Ended(z)
	Ended(z)
	require.Equal(t, tally{1, 1, 0}, counted(key))
	runtime.KeepAlive(z)
	MadeValue(key)
	EndedValue(key)
	require.Equal(t, tally{2, 2, 0}, counted(key))
	Did("Add")
	Did("Add")
	Undid("Add")
	require.Equal(t, tally{2, 1, 0}, counted("Add"))
}

// Tests have keys of their own for what they get.
func TestByTest(t *testing.T) {
	type got struct{ _ [8]byte }
	key := "github.com/leakgate/leakgate/cmd/leakgate/internal/auto/repeat/ended.got"
	Begin()
	newGot := func() (g *got) {
		defer Made("newGot", &g)
		return new(got)
	}
	g := newGot()
	require.Equal(t, tally{1, 0, 0}, counted("newGot"))
	require.Equal(t, tally{1, 0, 0}, counted(key))
	require.Equal(t, tally{1, 0, 0}, counted(key+ToTests))
	Ended(g)
	require.Equal(t, tally{1, 1, 0}, counted(key+ToTests))
}

// A function that ends something works as before, and is counted once.
func TestMadeFunc(t *testing.T) {
	Begin()
	calls := 0
	stop := context.CancelFunc(func() { calls++ })
	MadeFunc("Watch", &stop)
	require.Equal(t, tally{1, 0, 0}, counted("Watch"))
	stop()
	stop()
	require.Equal(t, tally{1, 1, 0}, counted("Watch"))
	require.Equal(t, 2, calls)

	broken := errors.New("broken")
	end := func() error { return broken }
	MadeFunc("Open2", &end)
	require.Equal(t, broken, end())
	require.Equal(t, tally{1, 1, 0}, counted("Open2"))

	stop = nil
	MadeFunc("Watch", &stop)
	require.Nil(t, stop)
	require.Equal(t, tally{1, 1, 1}, counted("Watch"))
}

// A field that is such a function is replaced once in an object, whichever functions hand it out.
func TestMadeWithFunc(t *testing.T) {
	Begin()
	calls := 0
	var freed []string
	c := &client{Stop: func() { calls++ }, Free: func(names ...string) error {
		freed = names
		return nil
	}}
	MadeWithFunc("Start", &c, "Stop")
	once := c.Stop
	MadeWithFunc("Start", &c, "Stop")
	MadeWithFunc("Default", &c, "Stop")
	require.Equal(t, reflect.ValueOf(once).UnsafePointer(), reflect.ValueOf(c.Stop).UnsafePointer())
	require.Equal(t, tally{1, 0, 0}, counted("Start"))
	c.Stop()
	c.Stop()
	require.Equal(t, 2, calls)
	require.Equal(t, tally{1, 1, 0}, counted("Start"))
	require.Equal(t, tally{1, 1, 0}, counted("Default"))
	MadeWithFunc("Start", &c, "Stop")
	require.Equal(t, reflect.ValueOf(once).UnsafePointer(), reflect.ValueOf(c.Stop).UnsafePointer())
	require.Equal(t, tally{2, 1, 0}, counted("Start"))

	value := *c
	MadeWithFunc("Value", &value, "Free")
	require.NoError(t, value.Free("a", "b"))
	require.Equal(t, []string{"a", "b"}, freed)
	require.Equal(t, tally{1, 1, 0}, counted("Value"))
	MadeWithFunc("Value", &value, "quit")
	MadeWithFunc("Value", &value, "none")
	var as closer
	MadeWithFunc("Value", &as, "Stop")
	require.Equal(t, tally{1, 1, 0}, counted("Value"))
}

// A result ends with the field that it embeds, or with a channel of its.
func TestMadeField(t *testing.T) {
	type base struct{ *client }
	type outer struct{ base }
	Begin()
	o := &outer{base{new(client)}}
	MadeField("NewOuter", &o, "base", "client")
	require.Equal(t, tally{1, 0, 0}, counted("NewOuter"))
	o.Close()
	require.Equal(t, tally{1, 1, 0}, counted("NewOuter"))
	MadeField("NewOuter", &o, "base", "none")
	o.client = nil
	MadeField("NewOuter", &o, "base", "client")
	o = nil
	MadeField("NewOuter", &o, "base", "client")
	require.Equal(t, tally{1, 1, 0}, counted("NewOuter"))

	var as any = &client{quit: make(chan bool)}
	MadeField("NewQuit", &as, "quit")
	require.Equal(t, tally{1, 0, 0}, counted("NewQuit"))
	close(as.(*client).quit)
	require.Equal(t, tally{1, 1, 0}, counted("NewQuit"))
}

// What is passed ends when it is cancelled, closed or garbage.
func TestPassed(t *testing.T) {
	Begin()
	ctx, cancel := context.WithCancel(t.Context())
	Passed("ctx", ctx)
	Passed("ctx", context.Background())
	Passed("ctx", nil)
	require.Equal(t, tally{1, 0, 0}, counted("ctx"))
	cancel()
	require.Equal(t, tally{1, 1, 0}, counted("ctx"))

	ch := make(chan int, 1)
	Passed("ch", ch)
	ch <- 1
	require.Equal(t, tally{1, 0, 0}, counted("ch"))
	require.Equal(t, 1, <-ch)
	close(ch)
	require.Equal(t, tally{1, 1, 0}, counted("ch"))

	for name, open := range map[string]func() interface{ Close() error }{
		"listener": func() interface{ Close() error } {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			return l
		},
		"file": func() interface{ Close() error } {
			f, err := os.Open(os.DevNull)
			require.NoError(t, err)
			return f
		},
		"pipe": func() interface{ Close() error } {
			c, _ := net.Pipe()
			return c
		},
	} {
		c := open()
		Passed(name, c)
		require.Equal(t, tally{1, 0, 0}, counted(name), name)
		require.NoError(t, c.Close())
		require.Equal(t, tally{1, 1, 0}, counted(name), name)
	}

	passGarbage()
	runtime.GC()
	require.Equal(t, tally{1, 1, 0}, counted("garbage"))
}

//go:noinline
func passGarbage() { Passed("garbage", &client{quit: make(chan bool)}) }

// Dead objects are forgotten, and what was counted of them stays.
func TestPrune(t *testing.T) {
	Begin()
	for range 4 * minPrune {
		passGarbage2()
	}
	runtime.GC()
	for range 4 * minPrune {
		passGarbage2()
	}
	runtime.GC()
	require.Equal(t, tally{8 * minPrune, 8 * minPrune, 0}, counted("garbage2"))
	require.Equal(t, tally{8 * minPrune, 0, 0}, counted("made2"))
	mu.Lock()
	defer mu.Unlock()
	pruneAt = 0
	prune()
	require.Less(t, len(objects), minPrune)
	require.Equal(t, minPrune, pruneAt)
}

//go:noinline
func passGarbage2() {
	c := &client{quit: make(chan bool)}
	Passed("garbage2", c)
	c = &client{quit: make(chan bool)}
	Made("made2", &c)
}
