package realtime

import (
	"runtime"
	"strconv"
	"strings"
	"time"
	"unsafe"
)

// maxText bounds the text, in bytes: the traces of about 100,000 goroutines.
const maxText = 64 << 20

// AllStacks returns the stack traces of all goroutines but the runtime's own, the caller's first,
// as runtime.Stack writes them. The world stops meanwhile. It returns "" if they are longer than 64
// MiB.
func AllStacks() string {
	const usual = 512 // bytes for a goroutine
	for size := min(64<<10+usual*runtime.NumGoroutine(), maxText); size <= maxText; size *= 4 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size {
			return unsafe.String(unsafe.SliceData(buf), n) // nothing else has the bytes
		}
	}
	return ""
}

// A Goroutine is what a stack trace says of one.
type Goroutine struct {
	State     string        // "chan receive"
	Calls     []Call        // innermost first; at least one
	Elided    int64         // calls that the trace leaves out
	Sleep     time.Duration // for which it sleeps in all; 0: it does not, or that is not known
	CreatedBy string        // the function with the go statement, "" for the main goroutine
	CreatedAt string        // file:line of the go statement
	// the stack that the go statement was on, innermost first, and then the stacks of the
	// goroutines that led to it, with GODEBUG=tracebackancestors; of calls that are inlined it has
	// the innermost alone, and the line may be that of the next statement
	Ancestors []Call
}

// Entry returns the outermost function. A goroutine that has not begun yet may have none of the
// program: for it Entry returns the function with the go statement.
func (g *Goroutine) Entry() string {
	entry := g.Calls[len(g.Calls)-1].Function
	if entry == "runtime.goexit" && g.CreatedBy != "" {
		return g.CreatedBy
	}
	return entry
}

// A Call is a function on a stack, and the file:line that it is at.
type Call struct{ Function, At string }

// Goroutines reads the output of runtime.Stack (go1.26 runtime/traceback.go): for each goroutine a
// header "goroutine 7 [chan receive, 2 minutes]:", two lines a frame, innermost first, two for the
// go statement, and the same for each ancestor after "[originating from goroutine 6]:", with an
// empty line in between. It calls f for each, but those without frames.
func Goroutines(text string, f func(*Goroutine)) {
	for more := true; more; {
		var block string
		block, text, more = strings.Cut(text, "\n\n")
		if g := parse(strings.Split(strings.TrimSpace(block), "\n")); len(g.Calls) > 0 {
			f(&g)
		}
	}
}

func parse(lines []string) (g Goroutine) {
	_, state, ok := strings.Cut(lines[0], " [")
	if !ok || !strings.HasPrefix(lines[0], "goroutine ") {
		return g
	}
	g.State, _, _ = strings.Cut(state, "]")
	g.State, _, _ = strings.Cut(g.State, ",")
	calls := &g.Calls
	for i := 1; i+1 < len(lines); i++ {
		position, isPosition := strings.CutPrefix(lines[i+1], "\t")
		if !isPosition {
			if strings.HasPrefix(lines[i], "[originating from goroutine ") {
				calls = &g.Ancestors
				continue
			}
			// "...12 frames elided..." (go1.26 runtime/traceback.go, traceback2)
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(lines[i], "..."), " frames elided..."), 10, 64)
			g.Elided += n
			continue
		}
		if end := strings.LastIndex(position, " +0x"); end >= 0 {
			position = position[:end]
		}
		function := lines[i]
		i++
		if creator, ok := strings.CutPrefix(function, "created by "); ok {
			if g.CreatedBy == "" {
				g.CreatedBy, _, _ = strings.Cut(creator, " in goroutine ")
				g.CreatedAt = position
			}
			continue
		}
		if args := strings.LastIndexByte(function, '('); args > 0 {
			if function[:args] == "time.Sleep" { // (0x2540be400) are ten seconds, (0x2540be400?) and (...) are not certain
				n, _ := strconv.ParseInt(strings.Trim(function[args:], "()"), 0, 64)
				g.Sleep = time.Duration(n)
			}
			function = function[:args]
		}
		*calls = append(*calls, Call{function, position})
	}
	return g
}
