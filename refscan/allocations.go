package refscan

import (
	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/symbol"
)

// WithAllocationSites makes Scan fill in Node.Allocations from the records of the runtime's memory
// profiler. The profiler records one allocation in 512 KiB, at random, unless
// runtime.MemProfileRate says otherwise. With a rate of 1, set at the start of the program (go test
// -memprofilerate=1), it records all allocations, and equal heaps give equal reports. Values below
// 16 bytes without pointers share blocks: only the first value of each block is recorded.
func WithAllocationSites() ScanOption {
	return scanOption(func(c *scanConfig) { c.allocations = readAllocations })
}

// allocationSites gathers where the objects of each node were allocated.
type allocationSites struct {
	snapshot *Snapshot
	bucket   map[uint32]uint64 // by recorded object: the bucket of its allocation stack
	nodes    map[*attribute.Node]map[uint64]*Allocation
	stacks   map[uint64][]SourceFrame
}

// readAllocations reads the profiler's records. It returns a function that counts each object that
// a node is charged with, and one that completes a node of the report. Read errors are ignored,
// since allocation sites only add to a report.
func readAllocations(s *Snapshot) (attribute.Charged, func(*attribute.Node, *Node)) {
	a := &allocationSites{
		snapshot: s, bucket: make(map[uint32]uint64),
		nodes: make(map[*attribute.Node]map[uint64]*Allocation), stacks: make(map[uint64][]SourceFrame),
	}
	_ = goruntime.AllocationRecords(s.in().Model(), func(obj uint32, bucket uint64) { a.bucket[obj] = bucket })
	return a.charge, a.finish
}

func (a *allocationSites) charge(n *attribute.Node, obj uint32, objects, bytes int64) {
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
	site.Objects += objects
	site.Bytes += bytes
}

func (a *allocationSites) finish(n *attribute.Node, out *Node) {
	var list []Allocation
	for bucket, site := range a.nodes[n] {
		if site.Stack = a.stack(bucket); len(site.Stack) > 0 {
			list = append(list, *site)
		}
	}
	// The profiler has several buckets for one stack, one for each size of object.
	out.Allocations = mergeAllocations(nil, list)
}

func (a *allocationSites) stack(bucket uint64) []SourceFrame {
	frames, known := a.stacks[bucket]
	if !known {
		pcs, err := goruntime.AllocationStack(a.snapshot.in().Model(), bucket)
		switch {
		case err != nil:
		case a.snapshot.in().Stopped():
			for _, c := range a.snapshot.in().Model().StackCalls(pcs) {
				frames = append(frames, SourceFrame{Func: c.Name, File: c.File, Line: c.Line})
			}
		default:
			frames = sourceFrames(pcs)
		}
		a.stacks[bucket] = frames
	}
	return frames
}

// sourceFrames resolves the return addresses of a stack of this process to functions. It leaves out
// the allocator's frames, and ends before runtime.goexit or testing.tRunner.
func sourceFrames(pcs []uint64) []SourceFrame {
	native := make([]uintptr, len(pcs))
	for i, pc := range pcs {
		native[i] = uintptr(pc)
	}
	var out []SourceFrame
	for _, f := range symbol.CallerFrames(native) {
		if f.Function == "testing.tRunner" {
			break
		}
		out = append(out, SourceFrame{Func: f.Function, File: f.File, Line: f.Line})
	}
	return out
}
