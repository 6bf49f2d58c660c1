package retain

import "github.com/leakgate/leakgate/internal/engine/attribute"

// Freed finds out what cutting the nodes that is means would free, all of them at once: asObjects says
// whether as for Sets or as for Nodes. It returns a function that tells of what a node of an attribution of
// the same heap is charged with whether it would be freed, nil where Nodes would give up. The
// function is valid until release is called, and Release after it.
func (r *Result) Freed(is func(*attribute.Node) bool, asObjects bool) (freed func(attribute.Claim) bool, release func()) {
	b := r.layOut()
	if b.edges == nil {
		return nil, nil
	}
	l := r.newLabels()
	for _, n := range l.nodes {
		if is(n) {
			l.lists[n] = []uint32{1}
		}
	}
	label := (*graph).labelNodes
	if asObjects {
		label = (*graph).labelObjects
	}
	d, _ := b.dominance(label(b, l))
	if d.Full() {
		d.Release()
		return nil, nil
	}
	return func(c attribute.Claim) bool {
		v := c.Obj
		if c.Kind == attribute.KindTiny {
			i, ok := b.smallValue(c.Obj, c.Off)
			if !ok {
				return false
			}
			v = b.small0 + i
		}
		return d.Reached(v) && d.Through(v) != 0
	}, d.Release
}
