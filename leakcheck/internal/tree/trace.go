package tree

import "github.com/leakgate/leakgate/refscan"

// Spread returns the first branch below the root that has at least a quarter of the objects of the
// trace's last branch. These are the objects that the program stored somewhere, and the branch
// above is the container. It returns nil if there is none.
func (t *Trace) Spread() *Branch {
	most := t.Last().Objects
	for _, b := range t.Branches[1:] {
		if most > 0 && 4*b.Objects >= most {
			return b
		}
	}
	return nil
}

// A Trace is the path from a root to the branch where most of the memory sits.
type Trace struct {
	Branches []*Branch
	Weight   func(Tally) int64
	Freed    bool           // the trace says what cutting each branch would free
	Cut      *Branch        // the only branch that Freed applies to; nil: all
	Of       *refscan.Query // the query that the branches are of; nil: they are of the report
	Grows    *Branch        // the first branch that grows, below those that do not; nil: unknown
}

// TraceTo follows the path to b. If below is true, it goes on to the largest child, until it comes
// to a branch that has at least half of its total by itself.
func TraceTo(b *Branch, below bool, weight func(Tally) int64) *Trace {
	t := &Trace{Branches: b.Line(), Weight: weight}
	for below && len(b.Children) > 0 && 2*weight(b.Own()) < weight(b.Total) {
		b = largestOf(b.Children, weight, true)
		t.Branches = append(t.Branches, b)
	}
	return t
}

// Last is where a trace ends.
func (t *Trace) Last() *Branch { return t.Branches[len(t.Branches)-1] }
