package observe

import (
	"cmp"

	"github.com/leakgate/leakgate/leakcheck/internal/native"
	"github.com/leakgate/leakgate/refscan"
)

// Needs are the parts of a snapshot that checks read. They are known before the first snapshot, so
// that one scan does for all checks.
type Needs struct {
	Heap       bool           // a report on the heap; without, stacks alone are read
	Stacks     bool           // goroutines, with their frames
	Resources  bool           // what the operating system holds for the process
	AsIs       bool           // the program is frozen after one collection, without a wait for it to come to rest
	Collect    bool           // garbage is collected before, also where no heap is scanned
	Leaked     bool           // goroutines that can never run again
	Retained   bool           // what cutting each node of the report would free; needs heap
	Cuts       []*Cut         // further queries about cutting nodes
	Profile    bool           // the heap profile of the same moment
	AlsoHeldBy []Place        // places whose other holders are to be found
	Content    *ContentQuery  // of numbers in objects; nil: none
	Native     bool           // the holders of the blocks of C's malloc; needs heap
	Held       []*Held        // what nodes hold, whoever else holds it; needs heap
	Keep       bool           // the snapshot is kept, for Recall
	Order      *refscan.Order // in which roots claim objects; nil: by distance alone
}

// Held is a query for what nodes hold.
type Held struct {
	Query  *refscan.Query
	Result *refscan.Held // of the last snapshot
	Before *refscan.Held // of the baseline; nil: there is none
}

// A Cut is a query for what cutting nodes of a report would free, beyond the Retained figures of
// each.
type Cut struct {
	// Nodes selects the nodes whose objects are cut all at once, which frees more than the sum of
	// what cutting each would free; nil: each node is cut by itself.
	Nodes func(*refscan.Report) []*refscan.Node
	// Keys selects the nodes of a folded report with native blocks that lead to native blocks, by
	// their naming.NodeKeys; "" stands for a node that leads to none. nil: native blocks do not
	// count.
	Keys func(*refscan.Report) []string

	// Results of the last snapshot: Set is what cutting Nodes would free, Native is how much native
	// memory cutting each of Keys would free, or all at once if Nodes is set, and Err is why that
	// is not known.
	Set    *refscan.NodeSet
	Native []native.Sum
	Err    error
}

// A Place is a path in a folded report, with the type of the objects there. Of is the query that
// the objects there are held by, nil for those of the report.
type Place struct {
	Path, Typ string
	Of        *refscan.Query
}

// And returns the needs of both.
func (n Needs) And(m Needs) Needs {
	return Needs{
		Heap: n.Heap || m.Heap, Stacks: n.Stacks || m.Stacks, Leaked: n.Leaked || m.Leaked,
		Resources: n.Resources || m.Resources, Collect: n.Collect || m.Collect, AsIs: n.AsIs || m.AsIs,
		Retained: n.Retained || m.Retained, Cuts: append(n.Cuts[:len(n.Cuts):len(n.Cuts)], m.Cuts...),
		Profile: n.Profile || m.Profile, AlsoHeldBy: append(n.AlsoHeldBy[:len(n.AlsoHeldBy):len(n.AlsoHeldBy)], m.AlsoHeldBy...),
		Content: cmp.Or(n.Content, m.Content), Native: n.Native || m.Native,
		Held: append(n.Held[:len(n.Held):len(n.Held)], m.Held...), Order: cmp.Or(n.Order, m.Order), Keep: n.Keep || m.Keep,
	}
}
