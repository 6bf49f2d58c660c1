package tree

// Spread is the first branch below the root that has as many objects as where the trace ends, or
// nearly so: these are what was put somewhere, and the branch above is what they were put into.
// Where there is none, it returns nil.
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
	Freed    bool    // it says what cutting each branch would free
	Cut      *Branch // but only of this one, unless that is nil
	Grows    *Branch // the first that grows, below those that do not; nil: nothing is known of that
}

// TraceTo follows the path to b, and where everything below b counts, on to where most of it sits:
// to the first branch that has at least half of what it and all below it hold.
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
