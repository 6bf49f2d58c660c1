package retain

import "github.com/leakgate/leakgate/internal/engine/graph/attribute"

// Freed computes what would be freed if all nodes for which is returns true were cut at once. With
// asObjects the nodes stand for their objects, as in a set of Find, else they are like a group of
// Find. freed reports, for a claim of an attribution of the same heap, whether it would be freed;
// it is nil if the sets of labels are too many, as in Find. It is valid until the call of release,
// which must precede Release.
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
	if d.full() {
		d.release()
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
		return d.reached(v) && d.through(v) != 0
	}, d.release
}
