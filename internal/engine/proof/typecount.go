package proof

import (
	"sync"

	"github.com/leakgate/leakgate/internal/engine/debuginfo"
	"github.com/leakgate/leakgate/internal/engine/snapshot"
	"github.com/leakgate/leakgate/internal/engine/typedheap"
)

// A TypeCount is how many objects there are of a type, or of several: never fewer than a scan
// charges to nodes of these types, beside what it charges to nodes as untyped, and often more.
type TypeCount struct {
	// reports whether objects are meant that references of that type lead to; see refscan.Node.Type
	Is func(reference string) bool
	// Name is what Is goes by; all with one Name mean the same.
	Name string
	// Known is set where the program is known to have such a type.
	Known bool
	// MaxObjects and MaxBytes are bounds; negative: none.
	MaxObjects, MaxBytes int64

	Objects, Bytes int64 // found
}

// Counted is the audit of a count: what refscan.Totals and refscan.Report have of these names.
type Counted struct {
	LiveObjects, LiveBytes                 int64
	MissedObjects, MissedBytes, ExtraBytes int64
	Collections                            int
	Undecided                              bool
	Warnings                               []string
}

// CountTypes reports whether there are no more objects of each type than its bound says, and fills
// in how many there are. It types the objects of the snapshot, as Scan does, which goes on from there
// if it is called afterwards, but charges them to nobody.
//
// If it returns false, there are more, or typings cannot tell: Scan will know.
func CountTypes(s *snapshot.Snapshot, all []*TypeCount) (found *Counted, within bool, err error) {
	if err := s.Opened(); err != nil {
		return nil, false, err
	}
	defer snapshot.Guard(&err)()
	if s.Index() == nil || s.Stopped() {
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

// namedTypes is what is known of the types that patterns mean.
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

// of reports whether the program has a type that is meant, and whether values of one that is meant
// may share blocks: those have no typing.
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
		a.known = a.known || means
		if means && t.Size <= typedheap.BlockSize && typedheap.CouldBeSmall(heap.Types.ByID(t.ID)) {
			a.small = true
			break
		}
	}
	n.answers[key] = a
	return a.known, a.small
}
