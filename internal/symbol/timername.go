package symbol

import (
	"maps"
	"slices"
	"strings"
)

// timerFunctions maps functions of the standard library that timers run, and that are unknown
// outside of it, to what a program calls or sets to start such a timer. A function literal counts
// as the function that contains it. All are in go1.26 and go1.27, except those of HTTP/2, which
// go1.27 has moved to a package of its own.
var timerFunctions = map[string]string{
	// context/context.go, WithDeadlineCause: WithTimeout, WithDeadline and their variants end
	// there.
	"context.WithDeadlineCause": "context.WithTimeout",
	// net/pipe.go, (*pipeDeadline).set: deadlines of net.Pipe.
	"net.(*pipeDeadline).set": "net.(*pipe).SetDeadline",
	// net/http/transport.go, (*Transport).tryPutIdleConn and (*persistConn).addTLS.
	"net/http.(*persistConn).closeConnIfStillIdle": "net/http.Transport.IdleConnTimeout",
	"net/http.(*persistConn).addTLS":               "net/http.Transport.TLSHandshakeTimeout",
	// net/http/httputil/reverseproxy.go, (*maxLatencyWriter).Write.
	"net/http/httputil.(*maxLatencyWriter).delayedFlush": "net/http/httputil.ReverseProxy.FlushInterval",
	// go1.26 net/http/h2_bundle.go.
	"net/http.(*http2serverConn).onIdleTimer":     "net/http.Server.IdleTimeout",
	"net/http.(*http2stream).onReadTimeout":       "net/http.Server.ReadTimeout",
	"net/http.(*http2stream).onWriteTimeout":      "net/http.Server.WriteTimeout",
	"net/http.(*http2ClientConn).onIdleTimeout":   "net/http.Transport.IdleConnTimeout",
	"net/http.(*http2serverConn).onReadIdleTimer": "net/http.HTTP2Config.SendPingTimeout",
	"net/http.(*http2ClientConn).healthCheck":     "net/http.HTTP2Config.SendPingTimeout",
	// go1.27 net/http/internal/http2/server.go and transport.go.
	"net/http/internal/http2.(*serverConn).onIdleTimer":     "net/http.Server.IdleTimeout",
	"net/http/internal/http2.(*stream).onReadTimeout":       "net/http.Server.ReadTimeout",
	"net/http/internal/http2.(*stream).onWriteTimeout":      "net/http.Server.WriteTimeout",
	"net/http/internal/http2.(*ClientConn).onIdleTimeout":   "net/http.Transport.IdleConnTimeout",
	"net/http/internal/http2.(*serverConn).onReadIdleTimer": "net/http.HTTP2Config.SendPingTimeout",
	"net/http/internal/http2.(*ClientConn).healthCheck":     "net/http.HTTP2Config.SendPingTimeout",
}

// TimerName returns what a program calls or sets to have timers run a function, "" if that is not
// known.
func TimerName(fn string) string {
	if i := strings.LastIndex(fn, ".func"); i >= 0 {
		fn = fn[:i]
	}
	return timerFunctions[fn]
}

// TimerNames returns the names of timers that are not those of the functions that they run, sorted:
// a program may have such timers though it has no function of that name.
func TimerNames() []string {
	names := []string{"time.Ticker", "time.Timer"}
	names = slices.AppendSeq(names, maps.Values(timerFunctions))
	slices.Sort(names)
	return slices.Compact(names)
}

// AlarmTimer is the root of the timer by which go test ends a test binary that takes too long
// (go1.26 and go1.27 testing/testing.go, startAlarm).
const AlarmTimer = "timer(testing.(*M).startAlarm.func1)"
