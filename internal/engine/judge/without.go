package judge

// Without returns what stays reachable, by number, if the roots and objects that cut names were
// gone: the rest is what they retain. A special counts while its object is reachable.
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

// Reach returns which of n vertices can be reached from those of start, going through no vertex
// that is cut.
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

// Distances returns how many references lead from the roots that count to each object at least, the
// root's own included; 0 if none do.
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
