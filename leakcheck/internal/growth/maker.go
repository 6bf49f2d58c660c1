package growth

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/pile"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
)

// The system does not know which code made a resource. The functions of the standard library that
// make one allocate Go objects, too, which may be garbage soon. So the memory profiler's records of
// a batch in which it records each allocation tell the callers.

// makers lists those functions by prefix (go1.26 and go1.27 os/exec_posix.go, os/tempfile.go,
// os/file.go, os/pipe2_unix.go, net/fd_unix.go).
var makers = [...][]string{
	ledger.Process:    {"os.StartProcess"},
	ledger.Descriptor: {"syscall.Open", "os.OpenFile", "os.openFileNolog", "os.NewFile", "os.newFile", "os.Pipe", "net.socket", "net.newFD", "net.(*netFD).accept"},
	ledger.File:       {"os.CreateTemp", "os.MkdirTemp", "os.OpenFile", "os.Create", "os.Mkdir"},
}

func makersOf(k ledger.Kind) []string {
	if int(k) < len(makers) {
		return makers[k]
	}
	return nil
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
	made := make(map[*finding.Resource]map[pile.Call]int64)
	all := x.finder.Resources()
	for stack, n := range countAllocations() {
		if n -= before[stack]; n <= 0 {
			continue
		}
		for _, r := range all {
			if by, ok := x.maker(r.Kind, (&runtime.MemProfileRecord{Stack0: stack}).Stack()); ok {
				if made[r] == nil {
					made[r] = make(map[pile.Call]int64)
				}
				made[r][by] = max(made[r][by], n)
			}
		}
	}
	x.words.Makers = make(map[ledger.Kind][]pile.Call)
	for r, by := range made {
		last := len(r.Own.Values) - 1
		least := (r.Own.Values[last] - r.Own.Values[last-1] + 1) / 2
		calls := x.words.Makers[r.Kind]
		for c, n := range by {
			if n >= least && !slices.Contains(calls, c) {
				calls = append(calls, c)
			}
		}
		sort.Slice(calls, func(i, j int) bool { // package slices would take 8 KB of code
			a, b := calls[i], calls[j]
			return cmp.Or(cmp.Compare(by[b], by[a]), cmp.Compare(a.At, b.At)) < 0
		})
		x.words.Makers[r.Kind] = calls
	}
}

// maker returns the call of the program's that made a resource of a kind, if a stack that has
// allocated did so.
func (x *Experiment) maker(k ledger.Kind, stack []uintptr) (by pile.Call, ok bool) {
	for _, f := range observe.MemProfileFrames(stack) {
		if ok && x.Env.IsProgram(symbol.Package(f.Func)) {
			return pile.Call{Function: f.Func, At: fmt.Sprintf("%s:%d", f.File, f.Line)}, true
		}
		ok = ok || slices.ContainsFunc(makersOf(k), func(prefix string) bool { return strings.HasPrefix(f.Func, prefix) })
	}
	return by, false
}
