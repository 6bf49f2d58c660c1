package pile

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/realtime"
	"github.com/leakgate/leakgate/internal/symbol"
)

const TooMany = "their stack traces are more than 64 MiB of text"

// CountAll counts all goroutines but the runtime's own, by their stack traces, for which the world
// stops. Unlike a scan, it sees goroutines that refer to nothing. It returns nil if the traces are
// too long.
func CountAll(isProgram func(pkg string) bool) map[Origin]Goroutines {
	text := realtime.AllStacks()
	if text == "" {
		return nil
	}
	return Parse(text, isProgram)
}

// Parse reads the output of runtime.Stack (go1.26 runtime/traceback.go): for each goroutine a
// header "goroutine 7 [chan receive, 2 minutes]:", two lines a frame, innermost first, and two for
// the go statement, with an empty line in between. The state and stack of an origin are those of
// most of its goroutines, whatever their order.
func Parse(text string, isProgram func(pkg string) bool) map[Origin]Goroutines {
	type stand struct {
		origin Origin
		stack  string
	}
	stands := make(map[stand]*Goroutines)
	frames := make(map[Origin]int64)
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		origin, one, ok := parseOne(strings.Split(block, "\n"), isProgram)
		if !ok {
			continue
		}
		key := stand{origin, fmt.Sprint(one.State, one.Calls)}
		if stands[key] == nil {
			stands[key] = &one
		}
		stands[key].Count++
		frames[origin] += one.Frames
		stands[key].Sleep = max(stands[key].Sleep, one.Sleep)
	}
	found := make(map[Origin]Goroutines)
	most := make(map[Origin]stand)
	for key, g := range stands {
		all, same := found[key.origin], 0
		for same < min(len(all.Calls), len(g.Calls)) && all.Calls[len(all.Calls)-1-same].Function == g.Calls[len(g.Calls)-1-same].Function {
			same++
		}
		if all.Outer = min(all.Outer, same); all.Count == 0 {
			all.Outer = len(g.Calls)
		}
		if top, ok := most[key.origin]; !ok || g.Count > stands[top].Count || g.Count == stands[top].Count && key.stack < top.stack {
			most[key.origin] = key
			all.State, all.Calls, all.Sleep = g.State, g.Calls, g.Sleep
		}
		all.Count, all.Frames = all.Count+g.Count, frames[key.origin]
		found[key.origin] = all
	}
	return found
}

func parseOne(lines []string, isProgram func(pkg string) bool) (origin Origin, g Goroutines, ok bool) {
	_, state, ok := strings.Cut(lines[0], " [")
	if !ok || !strings.HasPrefix(lines[0], "goroutine ") {
		return origin, g, false
	}
	g.State, _, _ = strings.Cut(state, "]")
	g.State, _, _ = strings.Cut(g.State, ",")
	for i := 1; i+1 < len(lines); i++ {
		position, isPosition := strings.CutPrefix(lines[i+1], "\t")
		if !isPosition {
			g.Frames += elided(lines[i])
			continue
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
			if function[:args] == sleep {
				g.Sleep = duration(function[args:])
			}
			function = function[:args]
		}
		g.Frames++
		g.Calls = append(g.Calls, Call{function, position})
	}
	if len(g.Calls) == 0 {
		return origin, g, false
	}
	origin.Entry = g.Calls[len(g.Calls)-1].Function
	if origin.Entry == "runtime.goexit" { // a coroutine that has not begun yet
		origin.Entry = cmp.Or(origin.CreatedBy, origin.Entry)
	}
	if given := g.programEntry(isProgram); given != "" && given != origin.Entry {
		origin.Entry, origin.Started = given, origin.Entry
	}
	return origin, g, true
}

// elided returns how many frames a line stands for: "...12 frames elided..." are twelve (go1.26
// runtime/traceback.go, traceback2).
func elided(line string) int64 {
	line, _ = strings.CutPrefix(line, "...")
	n, found := strings.CutSuffix(line, " frames elided...")
	if !found {
		return 0
	}
	frames, _ := strconv.ParseInt(n, 10, 64)
	return frames
}

// sleep is the function in which a goroutine sleeps.
const sleep = "time.Sleep"

// duration returns the argument of sleep, as a stack trace has it: "(0x2540be400)" are ten seconds.
// It returns 0 if the trace does not have the argument for certain: "(0x2540be400?)", "(...)".
func duration(args string) time.Duration {
	n, _ := strconv.ParseInt(strings.Trim(args, "()"), 0, 64)
	return time.Duration(n)
}

// programEntry returns the outermost function of the program on the stack, "" if there is none. The
// function that the goroutine started in was given it to run: sync.WaitGroup, an http server, and
// iter.Pull run such functions.
func (g *Goroutines) programEntry(isProgram func(pkg string) bool) string {
	for _, c := range slices.Backward(g.Calls) {
		if pkg := symbol.Package(c.Function); isProgram(pkg) && pkg != errgroup {
			return c.Function
		}
	}
	return ""
}

// errgroup is the package that starts goroutines for functions of its callers.
const errgroup = "golang.org/x/sync/errgroup"
