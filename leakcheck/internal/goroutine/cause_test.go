package goroutine_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
)

// The stacks are those of real goroutines, which a test of http, database/sql, iter and others left
// behind.
func TestGoroutineCauses(t *testing.T) {
	want := []string{
		"1 of context.(*cancelCtx).propagateCancel.func2, select: the cancel function of a context is not called",
		"1 of database/sql.(*DB).connectionOpener, select: a sql.DB is opened anew and not closed",
		"1 of database/sql.(*Rows).awaitDone, select: sql.Rows are not closed",
		"1 of database/sql.(*Tx).awaitDone, chan receive: a sql.Tx is neither committed nor rolled back",
		"1 of example.com/shop.(*hub).wait (from sync.(*WaitGroup).Go.func1), chan receive: ",
		"1 of example.com/shop.(*hub).wait, chan receive: ",
		"1 of example.com/shop.TestDump (from testing.tRunner), running: ",
		"1 of example.com/shop.TestDump.func1 (from net/http.(*conn).serve), chan receive: a handler does not return",
		"1 of example.com/shop.TestDump.func2 (from sync.(*WaitGroup).Go.func1), chan receive: ",
		"1 of example.com/shop.accept, IO wait: a net.Listener is not closed",
		"1 of example.com/shop.numbers (from iter.Pull[...].func1), coroutine: the stop function that iter.Pull returned is not called",
		"1 of io.(*PipeWriter).Write, select: the reader of an io.Pipe is neither read to its end nor closed",
		"1 of io.Copy, select: the writer of an io.Pipe is not closed",
		"1 of iter.Pull[...], coroutine: the stop function that iter.Pull returned is not called",
		"1 of main.main, chan receive: ",
		"2 of net/http.(*conn).serve, IO wait: clients keep their connections to an http.Server open",
		"1 of net/http.(*persistConn).readLoop, IO wait: " + goroutine.IdleConnections,
		"1 of net/http.(*persistConn).readLoop, select: the Body of a response is not closed, so its connection cannot be used again",
		"2 of net/http.(*persistConn).writeLoop, select: ",
		"1 of net/http.Serve, semacquire: ", // another goroutine has the same listener
		"1 of net/http/httptest.(*Server).goServe.func1, IO wait: an httptest.Server is not closed",
		"1 of os/exec.(*Cmd).Start.func2, IO wait: an exec.Cmd is started and Wait is not called, or its command does not end",
		"1 of os/exec.(*Cmd).watchCtx, select: an exec.Cmd is started and Wait is not called, or its command does not end",
		"1 of os/signal.NotifyContext.func1, select: the stop function that signal.NotifyContext returned is not called",
		"1 of os/signal.loop, syscall: ",
	}
	for _, version := range []string{"go1.26", "go1.27"} {
		text, err := os.ReadFile("testdata/" + version + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
			// one by one: two of one origin do different things
			for o, g := range goroutine.Parse(block, isProgram) {
				line := o.Entry
				if o.Started != "" {
					line += " (from " + o.Started + ")"
				}
				line += ", " + g.State + ": "
				if i := g.Cause(&o, isProgram); i >= 0 {
					line += goroutine.Causes[i].Text
				}
				got = append(got, line)
			}
		}
		slices.Sort(got)
		var counted []string
		for i := 0; i < len(got); {
			n := 1
			for i+n < len(got) && got[i+n] == got[i] {
				n++
			}
			counted = append(counted, fmt.Sprintf("%d of %s", n, got[i]))
			i += n
		}
		if !slices.Equal(counted, want) {
			t.Errorf("%s:\n%s\nwant\n%s", version, strings.Join(counted, "\n"), strings.Join(want, "\n"))
		}
		// The place is the program's if the stack has one.
		for o, g := range goroutine.Parse(string(text), isProgram) {
			at, via := g.Place(isProgram)
			switch o.Entry {
			case "example.com/shop.accept":
				if at.Function != "example.com/shop.accept" || via != "net.(*TCPListener).Accept" {
					t.Errorf("%s: %v is at %v via %q", version, o, at, via)
				}
			case "example.com/shop.TestDump.func1":
				if at.Function != "example.com/shop.(*hub).wait" || via != "" {
					t.Errorf("%s: %v is at %v via %q", version, o, at, via)
				}
			}
		}
	}
}

// Each cause has a text and something to tell it by, and none is listed twice.
func TestCauseTable(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range goroutine.Causes {
		key := fmt.Sprintf("%+v", c)
		assert.NotEmpty(t, c.Text, key)
		assert.False(t, seen[key], key)
		seen[key] = true
	}
	assert.Equal(t, -1, new(goroutine.Pile).Cause(new(goroutine.Origin), isProgram), "goroutines without a stack")
}

// The first cause of the list that fits is the one.
func TestCausePrecedence(t *testing.T) {
	stands := func(state string, functions ...string) *goroutine.Pile {
		g := &goroutine.Pile{State: state}
		for _, f := range functions {
			g.Calls = append(g.Calls, goroutine.Call{Function: f})
		}
		return g
	}
	read := "net.(*netFD).Read"
	for _, tt := range []struct {
		name   string
		origin goroutine.Origin
		g      *goroutine.Pile
		want   string
	}{
		{"a handler that reads", goroutine.Origin{Entry: "example.com/app.serve", Started: "net/http.(*conn).serve"}, stands("IO wait", read, "example.com/app.serve", "net/http.(*conn).serve"), "a handler does not return"},
		{"a connection without a handler", goroutine.Origin{Entry: "net/http.(*conn).serve"}, stands("IO wait", read, "net/http.(*conn).serve"), "clients keep their connections to an http.Server open"},
		{"the program reads", goroutine.Origin{Entry: "example.com/app.read"}, stands("IO wait", read, "example.com/app.read"), "a net.Conn is closed neither here nor by its peer"},
		{"the library reads for nobody", goroutine.Origin{Entry: "bufio.fill"}, stands("IO wait", read, "bufio.fill"), ""},
		{"the program is about to read", goroutine.Origin{Entry: "example.com/app.read"}, stands("runnable", read, "example.com/app.read"), ""},
		{"a state with more words", goroutine.Origin{Entry: "iter.Pull[...]"}, stands("coroutine (durable)", "iter.Pull[...]"), "the stop function that iter.Pull returned is not called"},
		{"the program's own wait", goroutine.Origin{Entry: "example.com/app.wait"}, stands("select", "example.com/app.wait"), ""},
	} {
		got := ""
		if i := tt.g.Cause(&tt.origin, isProgram); i >= 0 {
			got = goroutine.Causes[i].Text
		}
		assert.Equal(t, tt.want, got, tt.name)
	}
}
