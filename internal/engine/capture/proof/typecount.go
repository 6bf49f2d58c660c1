package proof

import (
	"reflect"
	"sync"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// A TypeCount is the number of objects of one or several types: never fewer than a scan charges to
// nodes of these types, apart from objects that it charges to nodes as untyped, and often more.
type TypeCount struct {
	// Is reports whether objects count that references of that type lead to; see refscan.Node.Type.
	Is func(reference string) bool
	// Name identifies Is: all TypeCounts with the same Name have an equivalent Is.
	Name string
	// Known says that the program is known to have such a type.
	Known bool
	// MaxObjects and MaxBytes are bounds; negative: none.
	MaxObjects, MaxBytes int64

	Objects, Bytes int64 // found
}

// Counted is the audit of a count: the fields of refscan.Totals and refscan.Report of the same
// names.
type Counted struct {
	LiveObjects, LiveBytes                 int64
	MissedObjects, MissedBytes, ExtraBytes int64
	Collections                            int
	Undecided                              bool
	Warnings                               []string
}

// CountTypes reports whether each type has no more objects than its bound allows, and fills in the
// numbers found. Like Scan it types the objects of the snapshot, but charges them to no root; a
// later Scan reuses the types.
//
// If it returns false, a type exceeds its bound, or the types cannot tell: Scan can.
func CountTypes(s *snapshot.Snapshot, all []*TypeCount) (found *Counted, within bool, err error) {
	if err := s.Opened(); err != nil {
		return nil, false, err
	}
	defer snapshot.Guard(&err)()
	if s.Stopped() {
		return nil, false, nil
	}
	heap, err := s.Heap()
	if err != nil {
		return nil, false, err
	}
	for _, c := range all {
		known, small := namedTypes.of(s.Index(), heap, c)
		if !known || small {
			return nil, false, nil
		}
		ok := false
		if c.Objects, c.Bytes, ok = heap.Count(c.Is); !ok {
			return nil, false, nil
		}
		if c.MaxObjects >= 0 && c.Objects > c.MaxObjects || c.MaxBytes >= 0 && (c.Bytes < 0 || c.Bytes > c.MaxBytes) {
			return nil, false, nil
		}
	}
	if err := s.Model().Mem.Broken(); err != nil {
		return nil, false, snapshot.HeapError(err)
	}
	t := heap.Totals(nil)
	objects, bytes := s.Excused()
	return &Counted{
		LiveObjects: t.LiveObjects - objects, LiveBytes: t.LiveBytes - bytes,
		MissedObjects: t.MissedObjects - objects, MissedBytes: t.MissedBytes - bytes, ExtraBytes: t.ExtraBytes,
		Collections: s.Collections(), Undecided: s.Undecided(), Warnings: s.Model().Warnings,
	}, true, nil
}

// namedTypes caches the results of typeNames.of.
var namedTypes typeNames

type typeNames struct {
	sync.Mutex
	x       *debuginfo.Index
	answers map[typeName]typeAnswer
}

type typeName struct {
	name  string
	known bool
}

type typeAnswer struct{ known, small bool }

// of reports whether the program has a type that c means, and whether values of such a type may
// share blocks: values in shared blocks have no type.
func (n *typeNames) of(x *debuginfo.Index, heap *typedheap.Heap, c *TypeCount) (known, small bool) {
	n.Lock()
	defer n.Unlock()
	if n.x != x {
		n.x, n.answers = x, make(map[typeName]typeAnswer)
	}
	key := typeName{c.Name, c.Known}
	if a, ok := n.answers[key]; ok {
		return a.known, a.small
	}
	a := typeAnswer{known: c.Known}
	for id := 1; id <= x.NumTypes(); id++ {
		t := x.TypeHead(debuginfo.TypeID(id))
		if a.known && t.Size > typedheap.BlockSize {
			continue
		}
		means := c.Is(t.Name) || typedheap.AnyForm(c.Is, t.Name)
		// No object has the type of a function or an interface, and what points to one is rare: a
		// scan tells whether such a name is a mistake.
		a.known = a.known || means && t.Kind != reflect.Func && t.Kind != reflect.Interface && t.Kind != reflect.Pointer
		if means && t.Size <= typedheap.BlockSize && typedheap.CouldBeSmall(heap.Types.ByID(t.ID)) {
			a.small = true
			break
		}
	}
	n.answers[key] = a
	return a.known, a.small
}
