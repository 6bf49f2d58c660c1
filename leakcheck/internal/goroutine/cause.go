package goroutine

import "strings"

// A cause is a usual reason why goroutines of the standard library pile up. The code with the
// mistake is on no stack any more, so a cause is told by what the goroutines do, and not only by
// where they start.
type cause struct {
	started string // prefix of the function that they started in; "": any
	on      string // prefix of a function on their stack; "": any
	state   string // prefix of their state; "": any
	program bool   // whether a function of the program is on the stack
	Text    string
}

// Causes are in order of precedence: where several kinds of goroutines belong to one connection,
// the first of the list is the leak (go1.26 and go1.27 net/http/transport.go, net/http/server.go,
// net/http/h2_bundle.go, net/http/internal/http2, database/sql/sql.go, context/context.go,
// os/exec/exec.go, os/signal/signal.go, iter/iter.go, io/pipe.go).
var Causes = []cause{
	{"net/http.(*conn).serve", "", "", true, "a handler does not return"},
	{"net/http.(*http2serverConn).runHandler", "", "", true, "a handler does not return"},
	{"net/http/internal/http2.(*serverConn).runHandler", "", "", true, "a handler does not return"},
	{"net/http.(*persistConn).readLoop", "", "select", false, "the Body of a response is not closed, so its connection cannot be used again"},
	{"net/http.(*persistConn).readLoop", "", "IO wait", false, IdleConnections},
	{"net/http.(*http2ClientConn).readLoop", "", "IO wait", false, IdleConnections},
	{"net/http/internal/http2.(*ClientConn).readLoop", "", "IO wait", false, IdleConnections},
	{"net/http/httptest.(*Server).", "", "IO wait", false, "an httptest.Server is not closed"},
	{"", "net/http.(*Server).Serve", "IO wait", true, "an http.Server is started, and neither Shutdown nor Close is called"},
	{"", "net/http.(*Server).Serve", "IO wait", false, "an http.Server is started, and neither Shutdown nor Close is called"},
	{"net/http.(*conn).serve", "", "IO wait", false, "clients keep their connections to an http.Server open"},
	{"net/http.(*http2serverConn).", "", "IO wait", false, "clients keep their connections to an http.Server open"},
	{"net/http/internal/http2.(*serverConn).", "", "IO wait", false, "clients keep their connections to an http.Server open"},
	{"net/rpc.(*Client).input", "", "IO wait", false, "an rpc.Client is not closed"},
	{"database/sql.(*DB).connectionOpener", "", "select", false, "a sql.DB is opened anew and not closed"},
	{"database/sql.(*DB).connectionCleaner", "", "select", false, "a sql.DB is opened anew and not closed"},
	{"database/sql.(*Tx).awaitDone", "", "chan receive", false, "a sql.Tx is neither committed nor rolled back"},
	{"database/sql.(*Rows).awaitDone", "", "select", false, "sql.Rows are not closed"},
	{"", "database/sql.(*DB).conn", "select", true, busyConnections},
	{"database/sql.", "database/sql.(*DB).conn", "select", false, busyConnections},
	{"os/exec.(*Cmd).", "", "", false, "an exec.Cmd is started and Wait is not called, or its command does not end"},
	{"os/signal.NotifyContext", "", "select", false, "the stop function that signal.NotifyContext returned is not called"},
	{"context.(*cancelCtx).propagateCancel", "", "select", false, "the cancel function of a context is not called"},
	{"iter.Pull", "", "coroutine", false, pulledSequence},
	{"iter.Pull", "", "coroutine", true, pulledSequence},
	{"", "net.(*netFD).accept", "IO wait", true, "a net.Listener is not closed"},
	{"", "io.(*pipe).read", "select", true, openWriter},
	{"io.", "io.(*pipe).read", "select", false, openWriter},
	{"", "io.(*pipe).write", "select", true, openReader},
	{"io.", "io.(*pipe).write", "select", false, openReader},
	{"", "net.(*netFD).Read", "IO wait", true, openConnection},
	{"io.", "net.(*netFD).Read", "IO wait", false, openConnection},
}

const (
	IdleConnections = "an http.Transport is made for each call, or CloseIdleConnections is not called when its use is over"
	busyConnections = "all connections of a sql.DB are in use: sql.Rows, a sql.Tx or a sql.Conn is not closed"
	pulledSequence  = "the stop function that iter.Pull returned is not called"
	openWriter      = "the writer of an io.Pipe is not closed"
	openReader      = "the reader of an io.Pipe is neither read to its end nor closed"
	openConnection  = "a net.Conn is closed neither here nor by its peer"
)

// Cause returns the index in Causes of the first cause that fits the goroutines, or -1.
func (g *Pile) Cause(o *Origin, isProgram func(pkg string) bool) int {
	program := g.HasProgram(isProgram)
	for i, c := range Causes {
		if strings.HasPrefix(o.Start(), c.started) && strings.HasPrefix(g.State, c.state) && program == c.program &&
			(c.on == "" || g.IsOn(c.on)) {
			return i
		}
	}
	return -1
}
