package refscan

import (
	"errors"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/graph/pathfind"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// A Retention says what keeps one object alive.
type Retention struct {
	Type  string // of a pointer to the object, with full import paths; "" if unknown
	Inner bool   // the address lies inside of the object, not at its start
	// the object is a block that small values without pointers share (runtime's tiny allocator)
	Shared bool

	// Paths lead from a root to the object, the shortest first. Each further path is the shortest
	// that avoids, of every path before it, the last reference that not all paths have in common:
	// it keeps the object alive when that reference is removed. There is no path where only this
	// tool, or a reference that PathQuery.Ignore leaves out, holds the object.
	Paths []RetainingPath

	// AllocatedAt is the stack that allocated the object, the innermost function first, if the
	// runtime's memory profiler has recorded it: see WithAllocationSites.
	AllocatedAt []SourceFrame

	// RetainedObjects and RetainedBytes are what would become garbage together with the object,
	// itself included.
	RetainedObjects, RetainedBytes int64
}

// A RetainingPath leads from a root to an object.
type RetainingPath struct {
	Root  RootInfo
	Name  string // of the root: "import/path.Var", "import/path.Func.var"
	Type  string // of the root variable; "" if unknown
	Steps []PathStep
}

// A PathStep is one reference of a path, with the names and types of Node. The name "" is the root
// variable itself.
type PathStep struct {
	Name, Type string
	// "closed", "done" or "stopped or expired" if the use of the object that the step leads to is
	// over
	State string
	// 1 + the index in PathQuery.Watch of an address inside of the object that this step leads to;
	// 0 if there is none
	Watched int
	// the reference lies in an element behind the length or before the start of the slice that the
	// step before leads along; false where that is not certain
	Beyond bool
}

// A PathQuery says which paths to look for.
type PathQuery struct {
	Limit int // of the number of paths; 0 means 1
	// Ignore returns true for references to leave out, given the type of their holder and their
	// name, such as ("*testing.T", "common.cleanups"). It may be nil.
	Ignore func(holder, name string) bool
	// Watch lists addresses of objects that are to be recognised on the paths.
	Watch []uintptr
}

// Errors of Paths, beside *UnavailableError.
var (
	ErrNotOnHeap = errors.New("refscan: the address is not on the heap")
	ErrNotAlive  = errors.New("refscan: the object is not alive")
)

// Paths finds what keeps the object alive that contains the address addr. The address is a uintptr
// so that asking does not keep the object alive. Equal heaps give equal paths.
//
// It takes time in proportion to the heap, as Scan does, and twice as much for every path.
func (s *Snapshot) Paths(addr uintptr, q PathQuery) (_ *Retention, err error) {
	defer public(&err)
	defer snapshot.Guard(&err)()
	graph, err := s.in().Heap()
	if err != nil {
		return nil, err
	}
	target, err := graph.Target(uint64(addr))
	switch {
	case errors.Is(err, typedheap.ErrNotOnHeap):
		return nil, ErrNotOnHeap
	case err != nil:
		return nil, ErrNotAlive
	}
	r := &Retention{Type: target.Type, Inner: target.Inner, Shared: target.Shared}
	_ = goruntime.AllocationRecords(s.in().Model(), func(obj uint32, bucket uint64) {
		if obj == target.Object && !s.in().Stopped() {
			if pcs, err := goruntime.AllocationStack(s.in().Model(), bucket); err == nil {
				r.AllocatedAt = sourceFrames(pcs)
			}
		}
	})
	watched := make(map[uint32]int)
	for i, w := range q.Watch {
		if t, err := graph.Target(uint64(w)); err == nil && watched[t.Object] == 0 {
			watched[t.Object] = i + 1
		}
	}
	finder := pathfind.New(graph, s.in().Program(), q.Ignore)
	defer finder.Release()
	paths, err := finder.Paths(uint64(addr), max(1, q.Limit))
	if err != nil {
		return nil, err
	}
	for _, p := range paths {
		info := rootInfo(p.Root)
		info.setPending(p.Pending)
		rp := RetainingPath{Root: *info, Name: p.Root.Name, Type: p.RootType}
		for _, st := range p.Steps {
			rp.Steps = append(rp.Steps, PathStep{Name: st.Label, Type: st.Type, State: st.State, Watched: firstWatched(watched, st.Objects), Beyond: st.Beyond})
		}
		r.Paths = append(r.Paths, rp)
	}
	if len(paths) > 0 && !target.Shared {
		r.RetainedObjects, r.RetainedBytes, err = finder.Retained(uint64(addr))
	}
	return r, err
}

func firstWatched(watched map[uint32]int, objects []uint32) int {
	for _, o := range objects {
		if i := watched[o]; i > 0 {
			return i
		}
	}
	return 0
}

// Declaration returns where a package variable is declared, as Report.Declaration does.
func (s *Snapshot) Declaration(variable string) (file string, line int) {
	return (&Report{index: s.in().Index()}).Declaration(variable)
}

// VariableAt names the package variable that contains an address of this process, "" if there is
// none.
func (s *Snapshot) VariableAt(addr uintptr) string {
	if s.in().Model() == nil {
		return ""
	}
	at := uint64(addr) - s.in().Model().Bias()
	for _, g := range s.in().Index().Globals() {
		if g.Addr <= at && at-g.Addr < uint64(max(g.Size, 0)) {
			return g.Name
		}
	}
	return ""
}
