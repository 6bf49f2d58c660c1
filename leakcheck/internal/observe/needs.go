package observe

import (
	"github.com/leakgate/leakgate/internal/engine/proof"
	"github.com/leakgate/leakgate/refscan"
)

// Needs says what a check looks at in a snapshot. It is known before the first one, so that one
// scan does for all checks.
type Needs struct {
	Heap bool // a report on the heap; without, stacks alone are read
	// names of variables and functions: where there are none, there is nothing to look at
	Names      bool
	Stacks     bool       // goroutines, with their frames
	Resources  bool       // what the operating system holds for the process
	AsIs       bool       // the program is frozen as it is after one collection, not waited for to come to rest
	Collect    bool       // garbage is collected before, also where no heap is scanned
	Leaked     bool       // goroutines that can never run again
	Retained   bool       // what cutting each node of the report would free; needs heap
	Together   []*NodeSet // and what cutting several nodes would free
	Profile    bool       // the heap profile of the same moment
	AlsoHeldBy []Place    // who else holds the objects there
	Native     bool       // who holds the blocks of C's malloc; needs heap
	// if there are no more objects of types than these say, the heap is not scanned
	Types []*proof.TypeCount
}

// A NodeSet is a set of nodes of a report. Cutting them together frees more than the sum of what
// cutting each would.
type NodeSet struct {
	Choose func(*refscan.Report) []*refscan.Node
}

// A Place is a path in a folded report, with the type of the objects there.
type Place struct{ Path, Typ string }

// And returns what either of two needs asks for.
func (n Needs) And(m Needs) Needs {
	return Needs{
		Heap: n.Heap || m.Heap, Names: n.Names || m.Names, Stacks: n.Stacks || m.Stacks, Leaked: n.Leaked || m.Leaked,
		Resources: n.Resources || m.Resources, Collect: n.Collect || m.Collect, AsIs: n.AsIs || m.AsIs,
		Retained: n.Retained || m.Retained, Together: append(n.Together[:len(n.Together):len(n.Together)], m.Together...),
		Profile: n.Profile || m.Profile, AlsoHeldBy: append(n.AlsoHeldBy[:len(n.AlsoHeldBy):len(n.AlsoHeldBy)], m.AlsoHeldBy...),
		Native: n.Native || m.Native,
		Types:  append(n.Types[:len(n.Types):len(n.Types)], m.Types...),
	}
}
