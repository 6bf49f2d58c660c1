package peak

import (
	"fmt"
	"runtime"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

type stackKey = [32]uintptr

// A profiled is the memory profiler's record of one stack.
type profiled struct{ objects, bytes int64 }

// A recording has the memory profiler's records by stack: all allocations that it has sampled, and
// those still in use.
type recording struct{ allocated, inUse map[stackKey]profiled }

func record() recording {
	records := observe.MemProfile()
	r := recording{make(map[stackKey]profiled, len(records)), make(map[stackKey]profiled, len(records))}
	for i := range records {
		n := &records[i]
		r.allocated[n.Stack0] = r.allocated[n.Stack0].plus(n.AllocObjects, n.AllocBytes)
		r.inUse[n.Stack0] = r.inUse[n.Stack0].plus(n.InUseObjects(), n.InUseBytes())
	}
	return r
}

func (p profiled) plus(objects, bytes int64) profiled {
	return profiled{p.objects + objects, p.bytes + bytes}
}

// A place is a stack that allocated, with the bytes that its samples stand for, about.
type place struct {
	lines []string
	bytes int64
}

// standsFor estimates how many bytes recorded objects stand for. The profiler records one in rate
// bytes, and every object of at least that size.
func standsFor(objects, bytes int64, rate int) int64 {
	return max(bytes, objects*int64(rate))
}

// maxPlaces is how many stacks a message shows. Each has allocated at least 1/leastShare of what
// the first did.
const maxPlaces, leastShare = 3, 4

// allocatedAt says where the objects at the end of a trace were allocated, without those of before
// op, as far as the memory profiler's samples tell.
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

// allocatedSince says where a peak was allocated that was gone when the snapshot was taken: the
// objects that were in use at the peak and not before. If the profiler had not yet published those,
// it says where most of all that op allocates was allocated.
func (x *experiment) allocatedSince(p *peak) []string {
	if lines := shownPlaces("allocated at", x.bytesGrownByStack(p, p.inUse, x.recorded.inUse)); lines != nil {
		return lines
	}
	return shownPlaces("most of what op allocates is, garbage included, at", x.bytesGrownByStack(p, p.allocated, x.recorded.allocated))
}

// bytesGrownByStack returns how many bytes more are recorded now than before, by the text of the
// stack.
func (x *experiment) bytesGrownByStack(p *peak, now, before map[stackKey]profiled) map[string]int64 {
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
	list = observe.MemProfileFrames((&runtime.MemProfileRecord{Stack0: key}).Stack())
	for i, f := range list {
		if f.Func == "runtime.goexit" || f.Func == "testing.tRunner" {
			return list[:i]
		}
	}
	return list
}
