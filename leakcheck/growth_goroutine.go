package leakcheck

import (
	"runtime"
	"strings"
)

// A goroutineOrigin is what goroutines are told apart by.
type goroutineOrigin struct {
	entry     string // the function that the go statement calls
	createdBy string // the function with the go statement, "" for the main goroutine
	createdAt string // its file:line
}

// goroutines are those of one origin.
type goroutines struct {
	count int64
	state string // of one of them, as in a stack trace: "chan receive"
	where string // its innermost function outside of the runtime
	at    string // the file:line there
}

// usualCauses say what makes goroutines of the standard library pile up, by the function that they start in: whoever
// forgot something is on no stack any more (go1.26 and go1.27 net/http/transport.go, net/http/server.go, database/sql/sql.go,
// context/context.go, os/exec/exec.go).
var usualCauses = []struct{ entry, cause string }{
	{"net/http.(*persistConn).", "the usual cause: the Body of a response is not closed, so its connection cannot be used again"},
	{"net/http.(*conn).serve", "the usual cause: clients keep their connections to an http.Server open"},
	{"database/sql.(*DB).connectionOpener", "the usual cause: a sql.DB is opened anew and not closed"},
	{"database/sql.(*Rows).awaitDone", "the usual cause: sql.Rows are not closed"},
	{"database/sql.(*Tx).awaitDone", "the usual cause: a sql.Tx is neither committed nor rolled back"},
	{"context.(*cancelCtx).propagateCancel.", "the usual cause: the cancel function of a context is not called"},
	{"os/exec.(*Cmd).", "the usual cause: an exec.Cmd is started and Wait is not called, or its command does not end"},
}

// usualCause returns what is known of goroutines that start in a function, in a line, or nothing.
func usualCause(entry string) []string {
	for _, c := range usualCauses {
		if strings.HasPrefix(entry, c.entry) {
			return []string{c.cause}
		}
	}
	return nil
}

// maxStackText bounds the memory for the stack traces of all goroutines: about 100,000 of them.
const maxStackText = 64 << 20

// countGoroutines reads the stack traces of all goroutines but the runtime's own, for which the world
// stops. Unlike a scan, it sees those that refer to nothing. It returns nil if there are too many to tell.
func countGoroutines() map[goroutineOrigin]goroutines {
	for size := 64 << 10; size <= maxStackText; size *= 4 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size {
			return parseGoroutines(string(buf[:n]))
		}
	}
	return nil
}

// parseGoroutines reads what runtime.Stack writes (go1.26 runtime/traceback.go): for each goroutine a
// header "goroutine 7 [chan receive, 2 minutes]:", two lines a frame, innermost first, and two for the
// go statement, with an empty line in between.
func parseGoroutines(text string) map[goroutineOrigin]goroutines {
	found := make(map[goroutineOrigin]goroutines)
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		origin, one, ok := parseGoroutine(strings.Split(block, "\n"))
		if !ok {
			continue
		}
		one.count = found[origin].count + 1
		found[origin] = one
	}
	return found
}

func parseGoroutine(lines []string) (origin goroutineOrigin, g goroutines, ok bool) {
	_, state, ok := strings.Cut(lines[0], " [")
	if !ok || !strings.HasPrefix(lines[0], "goroutine ") {
		return origin, g, false
	}
	g.state, _, _ = strings.Cut(state, "]")
	g.state, _, _ = strings.Cut(g.state, ",")
	for i := 1; i+1 < len(lines); i++ {
		position, isPosition := strings.CutPrefix(lines[i+1], "\t")
		if !isPosition {
			continue // "...12 frames elided..."
		}
		if end := strings.LastIndex(position, " +0x"); end >= 0 {
			position = position[:end]
		}
		function := lines[i]
		i++
		if creator, ok := strings.CutPrefix(function, "created by "); ok {
			origin.createdBy, _, _ = strings.Cut(creator, " in goroutine ")
			origin.createdAt = position
			break
		}
		if args := strings.LastIndexByte(function, '('); args > 0 {
			function = function[:args]
		}
		origin.entry = function
		if pkg := packageOf(function); g.where == "" && pkg != "runtime" && pkg != "sync" && !strings.HasPrefix(pkg, "internal/") {
			g.where, g.at = function, position
		}
	}
	return origin, g, origin.entry != ""
}

// goroutinesIn counts the goroutines that a scope includes and no Ignore names.
func (x *experiment) goroutinesIn(s scope) map[goroutineOrigin]goroutines {
	all := x.count()
	for origin := range all {
		if !s.includesGoroutine(origin) || x.ignoresGoroutine(origin) {
			delete(all, origin)
		}
	}
	return all
}

func (s *scope) includesGoroutine(o goroutineOrigin) bool {
	return len(s.packages) == 0 || s.includesPackage(packageOf(o.entry)) || o.createdBy != "" && s.includesPackage(packageOf(o.createdBy))
}

func (x *experiment) ignoresGoroutine(o goroutineOrigin) bool {
	for _, i := range x.req.ignores {
		if i.pattern.matchPrefix(unescapePath(o.entry)) {
			return true
		}
	}
	return false
}
