package growth

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/pile"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
)

// The system does not know which code made a resource. The functions of the standard library that
// make one allocate Go objects, too, which may be garbage soon. So do those that add an entry to a
// registry of the standard library. So the memory profiler's records of a batch in which it records
// each allocation tell the callers.

// makers lists the functions that make a resource by prefix (go1.26 and go1.27 os/exec_posix.go,
// os/tempfile.go, os/file.go, os/file_unix.go, net/fd_unix.go).
var makers = [...][]string{
	ledger.Process:    {"os.StartProcess"},
	ledger.Descriptor: {"syscall.Open", "os.NewFile", "os.newFile", "net.newFD"},
	ledger.File:       {"os.CreateTemp", "os.MkdirTemp", "os.OpenFile", "os.Create", "os.Mkdir"},
}

// A product is what calls make: a resource, or an entry of a registry.
type product struct {
	name  string   // as in wording.Wording.Makers
	by    []string // functions that make it, by prefix
	least int64    // allocations of a caller that made most of them
}

// products are the resources that grow, and the registries.
func (x *Experiment) products() []product {
	var all []product
	for _, r := range x.finder.Resources() {
		if k := int(r.Kind); k < len(makers) && makers[k] != nil {
			last := len(r.Own.Values) - 1
			all = append(all, product{r.Kind.String(), makers[k], (r.Own.Values[last] - r.Own.Values[last-1] + 1) / 2})
		}
	}
	for _, l := range x.finder.Growth().Leaks {
		if root, by := l.Registry(); by != nil {
			all = append(all, product{root, by, 1})
		}
	}
	return all
}

// allocations has how often each stack has allocated.
type allocations map[[32]uintptr]int64

func countAllocations() allocations {
	made := make(allocations)
	for _, r := range observe.MemProfile() {
		made[r.Stack0] += r.AllocObjects
	}
	return made
}

// findMakers finds the program's functions that made the growing resources of the last batch, after
// the snapshot that follows the batch.
func (x *Experiment) findMakers(before allocations) {
	all := x.products()
	made := make([]map[pile.Call]int64, len(all))
	for stack, n := range countAllocations() {
		if n -= before[stack]; n <= 0 {
			continue
		}
		for i, p := range all {
			if by, ok := x.maker(p.by, (&runtime.MemProfileRecord{Stack0: stack}).Stack()); ok {
				if made[i] == nil {
					made[i] = make(map[pile.Call]int64)
				}
				made[i][by] = max(made[i][by], n)
			}
		}
	}
	x.words.Makers = make(map[string][]pile.Call)
	for i, p := range all {
		by := made[i]
		calls := x.words.Makers[p.name]
		for c, n := range by {
			if n >= p.least && !slices.Contains(calls, c) {
				calls = append(calls, c)
			}
		}
		sort.Slice(calls, func(i, j int) bool { // package slices would take 8 KB of code
			a, b := calls[i], calls[j]
			return cmp.Or(cmp.Compare(by[b], by[a]), cmp.Compare(a.At, b.At)) < 0
		})
		x.words.Makers[p.name] = calls
	}
}

// maker returns the call of the program's through which one of some functions, given by prefix, was
// called, if a stack that has allocated has one.
func (x *Experiment) maker(prefixes []string, stack []uintptr) (by pile.Call, ok bool) {
	for _, f := range observe.MemProfileFrames(stack) {
		if ok && x.Env.IsProgram(symbol.Package(f.Func)) {
			return pile.Call{Function: f.Func, At: fmt.Sprintf("%s:%d", f.File, f.Line)}, true
		}
		ok = ok || slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(f.Func, prefix) })
	}
	return by, false
}
