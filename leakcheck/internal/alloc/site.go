package alloc

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/alloctrace"
	"github.com/leakgate/leakgate/leakcheck/internal/memprofile"
	"github.com/leakgate/leakgate/refscan"
)

// A site is a stack that allocated objects of one size.
type site struct {
	stack   []refscan.SourceFrame
	size    int64 // what one object takes
	objects int64
}

// sites calls op so often and returns the stacks that allocated while it did, of all goroutines:
// the most objects first. Small objects without pointers that share a block are missing.
func sites(op func(), calls int, classes []int64, wait time.Duration) []*site {
	end, err := takeTurn(wait)
	if err != nil {
		return nil
	}
	defer end()
	before := profile()
	func() {
		defer memprofile.SetRate(1)()
		for range calls {
			op()
		}
	}()
	var found []*site
	for key, n := range profile() {
		n.objects -= before[key].objects
		n.bytes -= before[key].bytes
		if n.objects > 0 {
			found = append(found, &site{memprofile.Frames(n.stack), alloctrace.SizeOf(n.bytes/n.objects, classes), n.objects})
		}
	}
	slices.SortFunc(found, func(a, b *site) int {
		return cmp.Or(cmp.Compare(b.objects, a.objects), cmp.Compare(b.size, a.size), slices.CompareFunc(a.stack, b.stack, compareFrames))
	})
	return found
}

func compareFrames(a, b refscan.SourceFrame) int {
	return cmp.Or(strings.Compare(a.Func, b.Func), cmp.Compare(a.Line, b.Line))
}

// A profiled is what the memory profiler knows of one stack and size.
type profiled struct {
	objects, bytes int64
	stack          []uintptr
}

type profileKey struct {
	stack [32]uintptr
	size  int64
}

// profile reads the memory profile, which has what was allocated before the last but one
// collection.
func profile() map[profileKey]profiled {
	runtime.GC()
	runtime.GC()
	records := memprofile.Records()
	of := make(map[profileKey]profiled, len(records))
	for i := range records {
		r := &records[i]
		if r.AllocObjects > 0 {
			key := profileKey{r.Stack0, r.AllocBytes / r.AllocObjects}
			p := of[key]
			of[key] = profiled{p.objects + r.AllocObjects, p.bytes + r.AllocBytes, r.Stack()}
		}
	}
	return of
}
