package heapgraph

import "github.com/leakgate/leakgate/refscan/internal/goruntime"

// What judges ask in tests, object by object.

// Reached reports whether the marking reached an object.
func (g *Graph) Reached(obj uint32) bool { return g.marked.has(obj) }

// TypeOf returns the type of a reference to an object, "" if it is not known.
func (g *Graph) TypeOf(obj uint32) string {
	if ty := g.typing.of(obj); ty.typ != 0 {
		return g.types.refName(ty)
	}
	return ""
}

// ChargedTo returns the node that an object is charged to, nil if it is charged to none, or to
// several.
func (r *Retention) ChargedTo(obj uint32) *Node {
	if i := r.charged[obj]; i != 0 {
		return r.nodes[i-1]
	}
	return nil
}

// Parent returns the node whose references lead to those of n, nil for roots.
func (n *Node) Parent() *Node { return n.parent }

// Top returns the root node at the start of the path of a node.
func (n *Node) Top() *Node {
	for n.parent != nil {
		n = n.parent
	}
	return n
}

// Unexplained is how many objects RetainedBy did not reach from the roots as the report has them. They
// count as retained by their own node alone.
func (r *Retention) Unexplained() int64 { return r.rest }

// A Variable is a variable of a goroutine's frame, as far as it lies in memory in one piece.
type Variable struct {
	Func string // that declares it, an inlined one perhaps
	CFA  uint64 // canonical frame address of the frame that holds it
	Name string
	Type string
	Addr uint64 // on the stack, or on the heap if it escaped
	Size uint64
	Live bool // a word of it (or the reference to it, if it escaped) keeps something alive
}

// Variables calls visit for each variable that has a place in a goroutine's frames where it stands.
func (g *Graph) Variables(gr *goruntime.Goroutine, visit func(Variable)) error {
	var live []uint64
	for i := range g.stacks {
		if g.stacks[i].g == gr {
			for _, s := range g.stacks[i].slots {
				live = append(live, s.Addr)
			}
		}
	}
	return g.m.Frames(gr, func(f *goruntime.Frame) error {
		for _, v := range g.activeVars(f, false) {
			if !v.Deref && (v.place.VarOffset != 0 || uint64(v.place.Size) < v.typ.Size) {
				continue
			}
			out := Variable{Func: v.Inline, CFA: f.FP, Name: v.Name, Type: v.typ.Name, Addr: f.FP + uint64(v.place.CFAOffset), Size: v.typ.Size}
			if out.Func == "" {
				out.Func = f.Func.Name
			}
			size := v.typ.Size
			if v.Deref {
				size = 8
			}
			for _, at := range live {
				out.Live = out.Live || out.Addr <= at && at < out.Addr+size
			}
			if v.Deref {
				out.Addr = word(gr.Stack(out.Addr), 0)
			}
			visit(out)
		}
		return nil
	})
}
