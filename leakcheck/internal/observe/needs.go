package observe

import (
	"github.com/leakgate/leakgate/internal/engine/nativeholders"
	"github.com/leakgate/leakgate/internal/engine/proof"
	"github.com/leakgate/leakgate/refscan"
)

// Needs says what a check looks at in a snapshot. It is known before the first one, so that one
// scan does for all checks.
type Needs struct {
	Heap bool // a report on the heap; without, stacks alone are read
	// names of variables and functions: where there are none, there is nothing to look at
	Names      bool
	Stacks     bool    // goroutines, with their frames
	Resources  bool    // what the operating system holds for the process
	AsIs       bool    // the program is frozen as it is after one collection, not waited for to come to rest
	Collect    bool    // garbage is collected before, also where no heap is scanned
	Leaked     bool    // goroutines that can never run again
	Retained   bool    // what cutting each node of the report would free; needs heap
	Cuts       []*Cut  // and what else is asked of it
	Profile    bool    // the heap profile of the same moment
	AlsoHeldBy []Place // who else holds the objects there
	Native     bool    // who holds the blocks of C's malloc; needs heap
	// if there are no more objects of types than these say, the heap is not scanned
	Types []*proof.TypeCount
}

// A Cut asks what cutting nodes of a report would free, beyond what each has by itself.
type Cut struct {
	// Nodes chooses those whose objects are cut all at once, which frees more than the sum of what
	// cutting each would; nil: each is cut by itself.
	Nodes func(*refscan.Report) []*refscan.Node
	// Keys chooses the naming.NodeKeys of those with which native blocks go, of a folded report with
	// native blocks, and "" for nodes that lead to none; nil: these do not count.
	Keys func(*refscan.Report) []string

	// Of the last snapshot: what Nodes are, how much native memory goes with each of Keys, or with all
	// at once, and why that cannot be told.
	Set    *refscan.NodeSet
	Native []nativeholders.Sum
	Err    error
}

// A Place is a path in a folded report, with the type of the objects there.
type Place struct{ Path, Typ string }

// And returns what either of two needs asks for.
func (n Needs) And(m Needs) Needs {
	return Needs{
		Heap: n.Heap || m.Heap, Names: n.Names || m.Names, Stacks: n.Stacks || m.Stacks, Leaked: n.Leaked || m.Leaked,
		Resources: n.Resources || m.Resources, Collect: n.Collect || m.Collect, AsIs: n.AsIs || m.AsIs,
		Retained: n.Retained || m.Retained, Cuts: append(n.Cuts[:len(n.Cuts):len(n.Cuts)], m.Cuts...),
		Profile: n.Profile || m.Profile, AlsoHeldBy: append(n.AlsoHeldBy[:len(n.AlsoHeldBy):len(n.AlsoHeldBy)], m.AlsoHeldBy...),
		Native: n.Native || m.Native,
		Types:  append(n.Types[:len(n.Types):len(n.Types)], m.Types...),
	}
}
