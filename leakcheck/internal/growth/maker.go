package growth

import (
	"cmp"
	"fmt"
	"runtime"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/wording"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
)

// The system does not know which code made a resource. The functions of the standard library that
// make one allocate Go objects, too, which may be garbage soon. So do those that add an entry to a
// registry of the standard library. So the memory profiler's records of a batch in which it records
// each allocation tell the callers.

// makers lists the functions that make a resource by prefix (go1.26 and go1.27 os/exec_posix.go,
// os/tempfile.go, os/file.go, os/file_unix.go, net/fd_unix.go). Those that make something for
// certain come first, and those that may also open what is there last.
var makers = [...][]string{
	ledger.Process:    {"os.StartProcess"},
	ledger.Descriptor: {"syscall.Open", "os.NewFile", "os.newFile", "net.newFD"},
	ledger.File:       {"os.CreateTemp", "os.MkdirTemp", "os.Mkdir", "os.Create", "os.WriteFile", "os.OpenFile"},
}

// A product is what calls make: a resource, or an entry of a registry.
type product struct {
	name  string   // as in wording.Wording.Makers
	by    []string // functions that make it, by prefix
	least int64    // allocations of a caller that made most of them
}

// products are the resources that grow, and the registries.
func products(f *finding.Finder) []product {
	var all []product
	for _, r := range f.Resources() {
		if k := int(r.Kind); k < len(makers) && makers[k] != nil {
			last := len(r.Own.Values) - 1
			all = append(all, product{r.Kind.String(), makers[k], (r.Own.Values[last] - r.Own.Values[last-1] + 1) / 2})
		}
	}
	for _, l := range f.Growth().Leaks {
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

// makersSince returns the program's functions that made the growing resources of the last batch,
// after the snapshot that follows the batch: as wording.Wording.Makers.
func makersSince(before allocations, w *wording.Wording) map[string][]wording.Maker {
	all := products(&w.Finder)
	found := make([]map[goroutine.Call]*made, len(all))
	for stack, n := range countAllocations() {
		if n -= before[stack]; n <= 0 {
			continue
		}
		for i, p := range all {
			by, ok := makerOn(p.by, (&runtime.MemProfileRecord{Stack0: stack}).Stack(), w.Env.IsProgram)
			if !ok {
				continue
			}
			if found[i] == nil {
				found[i] = make(map[goroutine.Call]*made)
			}
			if m := found[i][by.Call]; m == nil || m.n < n {
				by.n = n
				found[i][by.Call] = &by
			}
		}
	}
	makers := make(map[string][]wording.Maker)
	for i, p := range all {
		makers[p.name] = nil
		var by []*made
		for _, m := range found[i] {
			if m.n >= w.RecordedShare(p.least) {
				by = append(by, m)
			}
		}
		sort.Slice(by, func(i, j int) bool { // package slices would take 8 KB of code
			return cmp.Or(cmp.Compare(by[i].rank, by[j].rank), cmp.Compare(by[j].n, by[i].n), cmp.Compare(by[i].At, by[j].At)) < 0
		})
		for _, m := range by {
			if isFile := p.name == ledger.File.String(); !isFile || m.rank == by[0].rank {
				makers[p.name] = append(makers[p.name], m.Maker)
			}
		}
	}
	return makers
}

// made is what a call has made: how many, and by which of the functions, which says how certain it
// is that they were not there before.
type made struct {
	wording.Maker
	n    int64
	rank int
}

// makerOn returns the call of the program's through which one of some functions, given by prefix,
// was called, with the program's calls that led to it, if a stack that has allocated has one.
func makerOn(prefixes []string, stack []uintptr, isProgram func(pkg string) bool) (by made, ok bool) {
	for _, f := range observe.MemProfileFrames(stack) {
		for i, prefix := range prefixes {
			if strings.HasPrefix(f.Func, prefix) && (!ok || i < by.rank) {
				by.rank, ok = i, true
				break
			}
		}
		if pkg := symbol.Package(f.Func); ok && isProgram(pkg) {
			by.Stack = append(by.Stack, goroutine.Call{Function: f.Func, At: fmt.Sprintf("%s:%d", f.File, f.Line)})
		} else if symbol.IsTool(pkg) {
			break
		}
	}
	if by.Stack == nil {
		return by, false
	}
	by.Call = by.Stack[0]
	return by, true
}
