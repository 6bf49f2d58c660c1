package retain

import "github.com/leakgate/leakgate/internal/engine/graph/attribute"

// labels gives numbers to sets of nodes.
type labels struct {
	nodes  []*attribute.Node            // of the report, from the roots outwards
	lists  map[*attribute.Node][]uint32 // the labels of each node, ascending
	own    map[*attribute.Node]uint32   // the label of the node alone; nil if nodes have none
	groups []uint32                     // by group: its label
	max    uint32

	walked []int // by label: the last walk that met it
	walks  int
}

// label numbers the nodes of the result and the groups of nodes, from the roots outwards.
func (r *Result) label(groups [][]*attribute.Node) *labels {
	l := r.newLabels()
	l.own, l.groups = make(map[*attribute.Node]uint32), make([]uint32, len(groups))
	groupOf := make(map[*attribute.Node]int)
	for i, g := range groups {
		for _, n := range g {
			groupOf[n] = i
		}
	}
	for _, n := range l.nodes {
		l.max++
		l.own[n] = l.max
		l.lists[n] = []uint32{l.max}
		i, ok := groupOf[n]
		if !ok {
			continue
		}
		if l.groups[i] == 0 {
			l.max++
			l.groups[i] = l.max
		}
		l.lists[n] = []uint32{min(l.own[n], l.groups[i]), max(l.own[n], l.groups[i])}
	}
	return l
}

// labelSets numbers the sets in their order, from 1.
func (r *Result) labelSets(sets [][]*attribute.Node) *labels {
	l := r.newLabels()
	l.max = uint32(len(sets))
	for i, set := range sets {
		for _, n := range set {
			if list := l.lists[n]; len(list) == 0 || list[len(list)-1] != uint32(i+1) {
				l.lists[n] = append(list, uint32(i+1))
			}
		}
	}
	return l
}

func (r *Result) newLabels() *labels {
	l := &labels{lists: make(map[*attribute.Node][]uint32)}
	todo := make([]*attribute.Node, 0, len(r.result.Roots))
	push := func(nodes []*attribute.Node) {
		for i := len(nodes) - 1; i >= 0; i-- {
			todo = append(todo, nodes[i])
		}
	}
	push(r.result.Roots)
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		l.nodes = append(l.nodes, n)
		push(n.Children)
	}
	return l
}

// above calls visit once for each label of a node and of the nodes above it.
func (l *labels) above(n *attribute.Node, visit func(label uint32)) {
	l.walks++
	for p := n; p != nil; p = p.Parent() {
		for _, label := range l.lists[p] {
			if l.walked[label] != l.walks { // a group may hold several nodes of one path
				l.walked[label] = l.walks
				visit(label)
			}
		}
	}
}
