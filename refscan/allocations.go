package refscan

import (
	"runtime"
	"sort"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/attribute"
	"github.com/leakgate/leakgate/internal/engine/special"
)

// An Allocation is a place where objects were allocated.
type Allocation struct {
	Objects int64 `json:"objects"` // exact, not scaled up
	Bytes   int64 `json:"bytes"`
	// the innermost first, without the allocator's own functions
	Stack []SourceFrame `json:"stack"`
}

// A SourceFrame is a function on a stack, inlined ones included, and where in its source it was.
type SourceFrame struct {
	Func string `json:"func"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// WithAllocationSites makes Scan fill in Node.Allocations from the records of the runtime's memory
// profiler. It records one allocation in 512 KiB, at random, unless runtime.MemProfileRate says
// otherwise; with a rate of 1, set at the start of the program (go test -memprofilerate=1), it
// records all, and equal heaps give equal reports. Of values below 16 bytes without pointers, which
// share blocks, it records the first of each block: the others have none. In snapshots of other
// processes it does nothing.
func WithAllocationSites() ScanOption {
	return scanOption(func(c *scanConfig) { c.allocations = readAllocations })
}

// allocationSites gathers where the objects of each node were allocated.
type allocationSites struct {
	snapshot *Snapshot
	bucket   map[uint32]uint64 // of recorded objects
	nodes    map[*attribute.Node]map[uint64]*Allocation
	stacks   map[uint64][]SourceFrame
}

// readAllocations reads the profiler's records. What cannot be read is left out: it only adds to a
// report.
func readAllocations(s *Snapshot) *allocationSites {
	a := &allocationSites{
		snapshot: s, bucket: make(map[uint32]uint64),
		nodes: make(map[*attribute.Node]map[uint64]*Allocation), stacks: make(map[uint64][]SourceFrame),
	}
	_ = special.AllocationRecords(s.in().Model(), func(obj uint32, bucket uint64) { a.bucket[obj] = bucket })
	return a
}

func (a *allocationSites) charge(n *attribute.Node, obj uint32, bytes int64) {
	bucket, known := a.bucket[obj]
	if !known {
		return
	}
	sites := a.nodes[n]
	if sites == nil {
		sites = make(map[uint64]*Allocation)
		a.nodes[n] = sites
	}
	site := sites[bucket]
	if site == nil {
		site = &Allocation{}
		sites[bucket] = site
	}
	site.Objects++
	site.Bytes += bytes
}

func (a *allocationSites) finish(n *attribute.Node, out *Node) {
	var list []Allocation
	for bucket, site := range a.nodes[n] {
		if site.Stack = a.stack(bucket); len(site.Stack) > 0 {
			list = append(list, *site)
		}
	}
	// Buckets are told apart by the size of the objects, too.
	out.Allocations = mergeAllocations(nil, list)
}

func (a *allocationSites) stack(bucket uint64) []SourceFrame {
	frames, known := a.stacks[bucket]
	if !known {
		pcs, err := special.AllocationStack(a.snapshot.in().Model(), bucket)
		if err == nil {
			frames = sourceFrames(pcs)
		}
		a.stacks[bucket] = frames
	}
	return frames
}

// sourceFrames names the functions of a stack of this process, down to where a goroutine or a test
// begins.
func sourceFrames(pcs []uint64) []SourceFrame {
	if len(pcs) == 0 {
		return nil
	}
	native := make([]uintptr, len(pcs))
	for i, pc := range pcs {
		native[i] = uintptr(pc)
	}
	var out []SourceFrame
	for frames := runtime.CallersFrames(native); ; {
		f, more := frames.Next()
		allocator := len(out) == 0 && (strings.HasPrefix(f.Function, "runtime.") || strings.HasPrefix(f.Function, "internal/runtime/"))
		if f.Function == "runtime.goexit" || f.Function == "testing.tRunner" {
			break
		}
		if !allocator && f.Function != "" {
			out = append(out, SourceFrame{Func: f.Function, File: f.File, Line: f.Line})
		}
		if !more {
			break
		}
	}
	return out
}

// mergeAllocations adds up what was allocated at equal stacks, the largest first.
func mergeAllocations(a, b []Allocation) []Allocation {
	if len(b) == 0 {
		return a
	}
	at := make(map[string]int)
	var out []Allocation
	for _, list := range [][]Allocation{a, b} {
		for _, x := range list {
			key := stackKey(x.Stack)
			i, known := at[key]
			if !known {
				i = len(out)
				at[key] = i
				out = append(out, Allocation{Stack: x.Stack})
			}
			out[i].Objects += x.Objects
			out[i].Bytes += x.Bytes
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Bytes != out[j].Bytes {
			return out[i].Bytes > out[j].Bytes
		}
		return stackKey(out[i].Stack) < stackKey(out[j].Stack)
	})
	return out
}

func stackKey(stack []SourceFrame) string {
	var b strings.Builder
	for _, f := range stack {
		b.WriteString(f.Func)
		b.WriteByte('\t')
		b.WriteString(f.File)
		b.WriteByte(':')
		b.WriteString(strconv.Itoa(f.Line))
		b.WriteByte('\n')
	}
	return b.String()
}
