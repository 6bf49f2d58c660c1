package peak

import (
	"fmt"
	"runtime"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

type stackKey = [32]uintptr

// A profiled is what the memory profiler has recorded of one stack.
type profiled struct{ objects, bytes int64 }

func allocObjects(r *runtime.MemProfileRecord) int64 { return r.AllocObjects }

func allocBytes(r *runtime.MemProfileRecord) int64 { return r.AllocBytes }

// recorded reads the memory profiler's records as of the collection that runtime.GC completed last,
// unless the runtime began another one of its own before that had swept (go1.26 runtime/mgc.go, GC;
// mprof.go, mProf_PostSweep).
func recorded(objects, bytes func(*runtime.MemProfileRecord) int64) map[stackKey]profiled {
	records := make([]runtime.MemProfileRecord, 1000)
	for {
		n, ok := runtime.MemProfile(records, true)
		if ok {
			records = records[:n]
			break
		}
		records = make([]runtime.MemProfileRecord, n+n/4)
	}
	of := make(map[stackKey]profiled, len(records))
	for i := range records {
		r := &records[i]
		p := of[r.Stack0]
		of[r.Stack0] = profiled{p.objects + objects(r), p.bytes + bytes(r)}
	}
	return of
}

// A place is a stack that allocated, and about how many bytes samples stand for.
type place struct {
	lines []string
	bytes int64
}

// standsFor is how many bytes recorded objects stand for. One in rate bytes is recorded, and all
// that are as large.
func standsFor(objects, bytes int64, rate int) int64 {
	return max(bytes, objects*int64(rate))
}

// maxPlaces is how many stacks a message shows, of those that allocated a share of at least
// 1/leastShare of what the first did.
const maxPlaces, leastShare = 3, 4

// allocatedAt says where what a trace ends at was allocated that was not there before, as far as the
// memory profiler's samples tell.
func (p *peak) allocatedAt(t *tree.Trace, env *environ.Environment) []string {
	key := t.Last().GrowthKey()
	of := make(map[string]int64)
	add := func(f tree.Forest, sign int64) {
		f.All(func(b *tree.Branch) bool {
			if b.GrowthKey() == key {
				for _, a := range b.Allocations {
					of[stackText(a.Stack, env)] += sign * standsFor(a.Objects, a.Bytes, p.rate)
				}
			}
			return true
		})
	}
	add(p.eval.Now, 1)
	add(p.eval.Base, -1)
	return shownPlaces("allocated at", of)
}

// allocatedSince says where what was in use at the peak and not before was allocated, of a peak that
// was gone when the snapshot was taken; or, where the profiler had yet to tell, where most of all
// that op allocates is.
func (x *experiment) allocatedSince(p *peak) []string {
	if lines := shownPlaces("allocated at", x.more(p, p.inUse, x.inUse)); lines != nil {
		return lines
	}
	return shownPlaces("most of what op allocates is, garbage included, at", x.more(p, p.allocated, x.recorded))
}

// more is how many bytes more are recorded than before, by the text of the stack.
func (x *experiment) more(p *peak, now, before map[stackKey]profiled) map[string]int64 {
	of := make(map[string]int64)
	for key, n := range now {
		was := before[key]
		if more := standsFor(n.objects, n.bytes, p.rate) - standsFor(was.objects, was.bytes, p.rate); more > 0 {
			of[stackText(frames(key), x.Env)] += more
		}
	}
	return of
}

func stackText(stack []refscan.SourceFrame, env *environ.Environment) string {
	return strings.Join(message.StackLines(stack, env), "\n")
}

func shownPlaces(title string, of map[string]int64) (lines []string) {
	var all []*place
	for text, bytes := range of {
		if text != "" && bytes > 0 {
			all = append(all, &place{strings.Split(text, "\n"), bytes})
		}
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].bytes != all[j].bytes {
			return all[i].bytes > all[j].bytes
		}
		return all[i].lines[0] < all[j].lines[0]
	})
	for i, p := range all {
		if i == maxPlaces || leastShare*p.bytes < all[0].bytes {
			break
		}
		lines = append(lines, "", fmt.Sprintf("%s (about %s, by samples):", title, textfmt.ByteCount(p.bytes)))
		lines = append(lines, p.lines...)
	}
	return lines
}

// frames resolves a stack of the memory profiler, from the allocator's caller down to where a test
// or a goroutine begins.
func frames(key stackKey) (list []refscan.SourceFrame) {
	n := 0
	for n < len(key) && key[n] != 0 {
		n++
	}
	if n == 0 {
		return nil
	}
	for next := runtime.CallersFrames(key[:n]); ; {
		f, more := next.Next()
		if f.Function == "runtime.goexit" || f.Function == "testing.tRunner" {
			return list
		}
		if inRuntime := strings.HasPrefix(f.Function, "runtime.") || strings.HasPrefix(f.Function, "internal/runtime/"); len(list) > 0 || !inRuntime {
			list = append(list, refscan.SourceFrame{Func: f.Function, File: f.File, Line: f.Line})
		}
		if !more {
			return list
		}
	}
}
