package goroutine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/leakgate/leakgate/internal/realtime"
	"github.com/leakgate/leakgate/internal/symbol"
)

const TooMany = "their stack traces are more than 64 MiB of text"

// CountAll counts all goroutines but the runtime's own, by their stack traces, for which the world
// stops. Unlike a scan, it sees goroutines that refer to nothing. It returns nil if the traces are
// too long.
func CountAll(isProgram func(pkg string) bool) map[Origin]Pile {
	text := realtime.AllStacks()
	if text == "" {
		return nil
	}
	return Parse(text, isProgram)
}

// Parse counts the goroutines of a text that realtime.Goroutines reads.
func Parse(text string, isProgram func(pkg string) bool) map[Origin]Pile {
	return Count(func(visit func(*realtime.Goroutine)) { realtime.Goroutines(text, visit) }, isProgram)
}

// Count counts the goroutines that each visits. The state and stack of an origin are those of most
// of its goroutines, whatever their order.
func Count(each func(visit func(*realtime.Goroutine)), isProgram func(pkg string) bool) map[Origin]Pile {
	type stand struct {
		origin Origin
		stack  string
	}
	stands := make(map[stand]*Pile)
	frames := make(map[Origin]int64)
	ancestors := make(map[Origin]map[string]*ancestry)
	each(func(one *realtime.Goroutine) {
		key := stand{originOf(one, isProgram), fmt.Sprint(one.State, one.Calls)}
		if stands[key] == nil {
			stands[key] = &Pile{State: one.State, Calls: one.Calls}
		}
		if len(one.Ancestors) > 0 {
			if ancestors[key.origin] == nil {
				ancestors[key.origin] = make(map[string]*ancestry)
			}
			same := fmt.Sprint(one.Ancestors)
			if ancestors[key.origin][same] == nil {
				ancestors[key.origin][same] = &ancestry{calls: one.Ancestors}
			}
			ancestors[key.origin][same].count++
		}
		stands[key].Count++
		frames[key.origin] += int64(len(one.Calls)) + one.Elided
		stands[key].Sleep = max(stands[key].Sleep, one.Sleep)
	})
	found := make(map[Origin]Pile)
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
	for origin, of := range ancestors {
		all := found[origin]
		all.Ancestors = usual(of)
		found[origin] = all
	}
	return found
}

// An ancestry is the ancestors of some goroutines.
type ancestry struct {
	calls []Call
	count int
}

// usual returns the ancestors of most goroutines: one that was started before op was called, such
// as by init, is not what piles up.
func usual(all map[string]*ancestry) []Call {
	var most ancestry
	for _, same := range slices.Sorted(maps.Keys(all)) {
		if a := all[same]; a.count > most.count {
			most = *a
		}
	}
	return most.calls
}

// originOf returns which go statement started a goroutine.
func originOf(g *realtime.Goroutine, isProgram func(pkg string) bool) Origin {
	o := Origin{Entry: g.Entry(), CreatedBy: g.CreatedBy, CreatedAt: g.CreatedAt}
	if given := programEntry(g.Calls, isProgram); given != "" && given != o.Entry {
		o.Entry, o.Started = given, o.Entry
	}
	ofProgram := func(c Call) bool { return isProgram(symbol.Package(c.Function)) }
	if i := slices.IndexFunc(g.Ancestors, ofProgram); i > 0 && !isProgram(symbol.Package(o.CreatedBy)) {
		o.Maker = g.Ancestors[i].Function
	}
	return o
}

// programEntry returns the outermost function of the program on the stack, "" if there is none. The
// function that the goroutine started in was given it to run: sync.WaitGroup, an http server, and
// iter.Pull run such functions.
func programEntry(calls []Call, isProgram func(pkg string) bool) string {
	for _, c := range slices.Backward(calls) {
		if pkg := symbol.Package(c.Function); isProgram(pkg) && pkg != errgroup {
			return c.Function
		}
	}
	return ""
}

// errgroup is the package that starts goroutines for functions of its callers.
const errgroup = "golang.org/x/sync/errgroup"
