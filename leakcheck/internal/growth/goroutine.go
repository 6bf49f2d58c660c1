package growth

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// A GoroutineOrigin is what goroutines are told apart by.
type GoroutineOrigin struct {
	// the program's function that they run: the one started, or the one that it was given to run
	Entry string
	// the function that the go statement calls, if it is another one: net/http.(*conn).serve
	Started   string
	CreatedBy string // the function with the go statement, "" for the main goroutine
	CreatedAt string // its file:line
}

// start returns the function that the go statement calls.
func (o *GoroutineOrigin) start() string {
	if o.Started != "" {
		return o.Started
	}
	return o.Entry
}

// A Call is a function on a stack, and the file:line where it stands.
type Call struct{ Function, At string }

// Goroutines are those of one origin.
type Goroutines struct {
	Count int64
	State string // of most of them, as in a stack trace: "chan receive"
	Calls []Call // their stack there, innermost first
}

// Place returns the innermost call that says where the goroutines stand: the program's, or where
// there is none the first one outside of the runtime. via is the function that the program's
// called, unless that is the runtime's.
func (g *Goroutines) Place(isProgram func(pkg string) bool) (at Call, via string) {
	for i, c := range g.Calls {
		pkg := symbol.Package(c.Function)
		if isProgram(pkg) {
			if i > 0 && !goroutine.IsInner(symbol.Package(g.Calls[i-1].Function)) {
				via = g.Calls[i-1].Function
			}
			return c, via
		}
		if at.Function == "" && !goroutine.IsInner(pkg) {
			at = c
		}
	}
	return at, ""
}

// hasProgram reports whether a function of the program is on the stack.
func (g *Goroutines) hasProgram(isProgram func(pkg string) bool) bool {
	return slices.ContainsFunc(g.Calls, func(c Call) bool { return isProgram(symbol.Package(c.Function)) })
}

// isOn reports whether a function whose name begins so is on the stack.
func (g *Goroutines) isOn(prefix string) bool {
	return slices.ContainsFunc(g.Calls, func(c Call) bool { return strings.HasPrefix(c.Function, prefix) })
}

// maxStackText bounds the memory for the stack traces of all goroutines: about 100,000 of them.
const maxStackText = 64 << 20

const tooManyGoroutines = "their stack traces are more than 64 MiB of text"

// uncountedGoroutines is why nothing is known of growth where nothing else grows.
func uncountedGoroutines() error {
	return &refscan.UnavailableError{
		Cause:  "whether goroutines pile up is not known, since they were not counted: " + tooManyGoroutines,
		Remedy: "let the goroutines of earlier tests end, or run this test alone",
	}
}

// CountGoroutines reads the stack traces of all goroutines but the runtime's own, for which the
// world stops. Unlike a scan, it sees those that refer to nothing. It returns nil if there are too
// many to tell.
func CountGoroutines(isProgram func(pkg string) bool) map[GoroutineOrigin]Goroutines {
	for size := 64 << 10; size <= maxStackText; size *= 4 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size {
			return ParseGoroutines(string(buf[:n]), isProgram)
		}
	}
	return nil
}

// ParseGoroutines reads what runtime.Stack writes (go1.26 runtime/traceback.go): for each goroutine
// a header "goroutine 7 [chan receive, 2 minutes]:", two lines a frame, innermost first, and two
// for the go statement, with an empty line in between. Of goroutines of one origin, the state and
// stack are those that most of them have, whatever their order.
func ParseGoroutines(text string, isProgram func(pkg string) bool) map[GoroutineOrigin]Goroutines {
	type stand struct {
		origin GoroutineOrigin
		stack  string
	}
	stands := make(map[stand]*Goroutines)
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		origin, one, ok := parseGoroutine(strings.Split(block, "\n"), isProgram)
		if !ok {
			continue
		}
		key := stand{origin, fmt.Sprint(one.State, one.Calls)}
		if stands[key] == nil {
			stands[key] = &one
		}
		stands[key].Count++
	}
	found := make(map[GoroutineOrigin]Goroutines)
	most := make(map[GoroutineOrigin]stand)
	for key, g := range stands {
		all := found[key.origin]
		if top, ok := most[key.origin]; !ok || g.Count > stands[top].Count || g.Count == stands[top].Count && key.stack < top.stack {
			most[key.origin] = key
			all.State, all.Calls = g.State, g.Calls
		}
		all.Count += g.Count
		found[key.origin] = all
	}
	return found
}

func parseGoroutine(lines []string, isProgram func(pkg string) bool) (origin GoroutineOrigin, g Goroutines, ok bool) {
	_, state, ok := strings.Cut(lines[0], " [")
	if !ok || !strings.HasPrefix(lines[0], "goroutine ") {
		return origin, g, false
	}
	g.State, _, _ = strings.Cut(state, "]")
	g.State, _, _ = strings.Cut(g.State, ",")
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
			origin.CreatedBy, _, _ = strings.Cut(creator, " in goroutine ")
			origin.CreatedAt = position
			break
		}
		if args := strings.LastIndexByte(function, '('); args > 0 {
			function = function[:args]
		}
		g.Calls = append(g.Calls, Call{function, position})
	}
	if len(g.Calls) == 0 {
		return origin, g, false
	}
	origin.Entry = g.Calls[len(g.Calls)-1].Function
	if origin.Entry == "runtime.goexit" { // a coroutine that has not begun yet
		origin.Entry = cmp.Or(origin.CreatedBy, origin.Entry)
	}
	if given := g.given(isProgram); given != "" && given != origin.Entry {
		origin.Entry, origin.Started = given, origin.Entry
	}
	return origin, g, true
}

// given returns the outermost function of the program, which the function that the goroutine
// started in was given to run: that of a sync.WaitGroup, an http handler, the sequence of
// iter.Pull. Where there is none, it returns "".
func (g *Goroutines) given(isProgram func(pkg string) bool) string {
	for _, c := range slices.Backward(g.Calls) {
		if pkg := symbol.Package(c.Function); isProgram(pkg) && pkg != errgroup {
			return c.Function
		}
	}
	return ""
}

// errgroup starts goroutines for functions of others.
const errgroup = "golang.org/x/sync/errgroup"

// goroutinesIn counts the goroutines that a scope includes and no Ignore names.
func (x *Experiment) goroutinesIn(s tree.Scope) map[GoroutineOrigin]Goroutines {
	all := x.Count(x.Env.IsProgram)
	for origin := range all {
		if !includesGoroutine(&s, origin) || x.ignoresGoroutine(origin) {
			delete(all, origin)
		}
	}
	return all
}

func includesGoroutine(s *tree.Scope, o GoroutineOrigin) bool {
	return len(s.Packages) == 0 || s.IncludesPackage(symbol.Package(o.Entry)) || s.IncludesPackage(symbol.Package(o.start())) || o.CreatedBy != "" && s.IncludesPackage(symbol.Package(o.CreatedBy))
}

func (x *Experiment) ignoresGoroutine(o GoroutineOrigin) bool {
	for _, i := range x.Req.Ignores {
		if i.Pattern.MatchPrefix(symbol.Unescape(o.Entry)) || i.Pattern.MatchPrefix(symbol.Unescape(o.start())) {
			return true
		}
	}
	return false
}
