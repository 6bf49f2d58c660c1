package judge

// Without reports, by object number, which objects stay reachable without the roots that cutRoot
// selects and the objects that cut selects. The selected roots and objects retain the others. A
// special is a root only while its object is reachable.
func (g *Graph) Without(cutRoot func(RootWord) bool, cut func(object int) bool) []bool {
	on := make(map[int][]int)
	var start []int
	for _, r := range g.Roots {
		switch {
		case cutRoot != nil && cutRoot(r):
		case r.On != None:
			on[r.On] = append(on[r.On], r.To)
		default:
			start = append(start, r.To)
		}
	}
	succ := func(v int) []int {
		if len(on[v]) == 0 {
			return g.Succ[v]
		}
		return append(append([]int(nil), on[v]...), g.Succ[v]...)
	}
	return Reach(len(g.Objects), start, succ, cut)
}

// Reach reports which of n vertices can be reached from the vertices in start, on paths through no
// vertex that cut selects.
func Reach(n int, start []int, succ func(int) []int, cut func(int) bool) []bool {
	reached := make([]bool, n)
	todo := append([]int(nil), start...)
	for len(todo) > 0 {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if reached[v] || cut != nil && cut(v) {
			continue
		}
		reached[v] = true
		todo = append(todo, succ(v)...)
	}
	return reached
}

// Distances returns for each object the smallest number of references on a path from a root that
// counts selects, the root's own reference included; 0 if there is no path.
func (g *Graph) Distances(counts func(RootWord) bool) []int {
	distance := make([]int, len(g.Objects))
	var level []int
	for _, r := range g.Roots {
		if counts(r) {
			level = append(level, r.To)
		}
	}
	for d := 1; len(level) > 0; d++ {
		var next []int
		for _, v := range level {
			if distance[v] == 0 {
				distance[v] = d
				next = append(next, g.Succ[v]...)
			}
		}
		level = next
	}
	return distance
}
