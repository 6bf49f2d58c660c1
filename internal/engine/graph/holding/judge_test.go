package holding_test

import (
	"maps"
	"slices"
)

// hWay is how far a thing is from variables: the length of the way, and whether it leads through an
// element.
type hWay struct {
	length  int
	through bool
}

const hLongest = 63 // no way is longer

func (w hWay) shorter(than hWay) bool {
	if w.length != than.length {
		return w.length < than.length
	}
	return !w.through && than.through
}

// after is the way to what a reference leads to.
func (w hWay) after(t hTie, fromElement bool) hWay {
	w.through = w.through || t.element
	return w.onward(t, w.through, fromElement)
}

// afterOfTest is after for tests' variables; ways through elements are as others there.
func (w hWay) afterOfTest(t hTie, fromElement bool) hWay { return w.onward(t, false, fromElement) }

func (w hWay) onward(t hTie, through, fromElement bool) hWay {
	switch {
	case !t.crosses:
	case through:
		w.length += 8
	case fromElement:
		w.length += 4
	default:
		w.length++
	}
	w.length = min(w.length, hLongest)
	return w
}

// hJudge decides by the rule of package holding what variables and paths hold.
type hJudge struct {
	*hGraph
	elements map[uintptr]bool // things that are elements of some container
	alive    map[uintptr]bool // things that variables lead to; others may be gone
}

func newHJudge(g *hGraph) *hJudge {
	j := &hJudge{g, make(map[uintptr]bool), make(map[uintptr]bool)}
	var visit func(*hThing)
	visit = func(holder *hThing) {
		for _, t := range holder.ties {
			if t.element && !t.crosses {
				j.elements[t.to] = true
			}
			if t.recurs {
				j.elements[holder.addr] = true
			}
			if !j.alive[t.to] {
				j.alive[t.to] = true
				visit(j.things[t.to])
			}
		}
	}
	for _, v := range g.variables {
		visit(&v.hThing)
	}
	return j
}

// hWays has a way to each thing that can be reached, but for those left out.
type hWays struct {
	to      map[uintptr]hWay
	leftOut map[uintptr]bool
}

func (w *hWays) add(to uintptr, way hWay) {
	if old, ok := w.to[to]; !w.leftOut[to] && (!ok || way.shorter(old)) {
		w.to[to] = way
	}
}

// settle completes ways: again and again it takes the nearest thing that it has not had, and looks
// where that leads.
func (j *hJudge) settle(w *hWays, after func(w hWay, t hTie, fromElement bool) hWay) {
	had := make(map[uintptr]bool)
	for {
		var next uintptr
		for to, way := range w.to {
			if !had[to] && (next == 0 || way.shorter(w.to[next])) {
				next = to
			}
		}
		if next == 0 {
			return
		}
		had[next] = true
		for _, t := range j.things[next].ties {
			w.add(t.to, after(w.to[next], t, j.elements[next]))
		}
	}
}

func (v *hVariable) begin() hWay {
	if v.kind == hFrame {
		return hWay{length: 3}
	}
	return hWay{}
}

// hQuery is about a variable, or the things that a path's node begins with.
type hQuery struct {
	variable *hVariable
	things   []uintptr
}

// holds returns what the nodes of a query hold.
func (j *hJudge) holds(q hQuery) map[uintptr]bool {
	near := &hWays{to: make(map[uintptr]hWay)}
	for _, to := range q.things {
		near.add(to, hWay{})
	}
	for _, v := range j.variables {
		for _, t := range v.ties {
			if v.kind != hTest {
				near.add(t.to, v.begin().after(t, false))
			}
		}
	}
	j.settle(near, hWay.after)
	// At first the nodes have no part of what tests have, and then ever more.
	var parts map[uintptr]bool
	for {
		held, more := j.follow(q, near, j.ofTests(parts))
		if maps.Equal(more, parts) {
			return held
		}
		parts = more
	}
}

// beyond returns how many things the nodes of a query lead to, of those that they do not hold.
func (j *hJudge) beyond(q hQuery, held map[uintptr]bool) int {
	led := make(map[uintptr]bool)
	var lead func(ties []hTie)
	lead = func(ties []hTie) {
		for _, t := range ties {
			if !led[t.to] {
				led[t.to] = true
				lead(j.things[t.to].ties)
			}
		}
	}
	if q.variable != nil {
		lead(q.variable.ties)
	}
	for h := range held {
		lead(j.things[h].ties)
	}
	maps.DeleteFunc(led, func(at uintptr, _ bool) bool { return held[at] })
	return len(led)
}

// ofTests finds the ways from tests' variables, which have no part of what a query's nodes hold.
func (j *hJudge) ofTests(parts map[uintptr]bool) *hWays {
	w := &hWays{make(map[uintptr]hWay), parts}
	for _, v := range j.variables {
		for _, t := range v.ties {
			if v.kind == hTest {
				w.add(t.to, hWay{}.afterOfTest(t, false))
			}
		}
	}
	j.settle(w, hWay.afterOfTest)
	return w
}

// follow finds what a query's nodes hold, and which of it are parts, given the ways from variables
// and from tests: what joins, and what crosses if nobody is nearer.
func (j *hJudge) follow(q hQuery, near, tests *hWays) (held, parts map[uintptr]bool) {
	held, parts = make(map[uintptr]bool), make(map[uintptr]bool)
	take := func(t hTie, way hWay) {
		if !t.crosses {
			held[t.to], parts[t.to] = true, true
			return
		}
		other := near.to[t.to]
		test, ofTest := tests.to[t.to]
		if other.length >= way.length && (!ofTest || test.length >= way.length) {
			held[t.to] = true
		}
	}
	for _, to := range q.things {
		held[to], parts[to] = true, true
	}
	if v := q.variable; v != nil {
		for _, t := range v.ties {
			take(t, v.begin().after(t, false))
		}
	}
	for n := -1; len(held) != n; {
		n = len(held)
		for _, h := range slices.Sorted(maps.Keys(held)) {
			for _, t := range j.things[h].ties {
				take(t, near.to[h].after(t, j.elements[h]))
			}
		}
	}
	return held, parts
}
