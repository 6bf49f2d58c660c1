package retain

// labelSets stores sets of labels, each once. A set is the number of a cell, which holds the
// greatest label and the number of the set of the others; 0 is the empty set. Labels are numbered
// from the roots of a report outwards, so that sets share what paths have in common.
type labelSets struct {
	cells  []labelCell
	number map[labelCell]uint32
	recent [1 << recentBits]uint32 // by hash: the cell looked up last; cell 0 is that of no label
	memo   []intersection
	common []uint32 // scratch
	steps  int64    // cells looked at
	limit  int      // of cells
	full   bool     // there was no room for another cell: sets are wrong from then on
}

type labelCell struct{ label, rest uint32 }

// An intersection is a result of meet that was computed before.
type intersection struct{ a, b, result uint32 }

const (
	memoBits   = 14
	recentBits = 10
)

// maxCells bounds the memory of the sets, to some 150 MB. Ordinary programs need about as many
// cells as their report has nodes, of which there are at most half a million.
const maxCells = 1 << 22

func newLabelSets(limit int) labelSets {
	return labelSets{
		cells: []labelCell{{}}, number: make(map[labelCell]uint32),
		memo: make([]intersection, 1<<memoBits), limit: limit,
	}
}

func (s *labelSets) cons(label, rest uint32) uint32 {
	c := labelCell{label, rest}
	last := &s.recent[(label*0x9e3779b1^rest*0x85ebca6b)>>(32-recentBits)]
	if s.cells[*last] == c {
		return *last
	}
	n, ok := s.number[c]
	if !ok && len(s.cells) >= s.limit {
		s.full = true
		return 0
	}
	if !ok {
		n = uint32(len(s.cells))
		s.cells = append(s.cells, c)
		s.number[c] = n
	}
	*last = n
	return n
}

// with returns the union of a set and a label.
func (s *labelSets) with(set, label uint32) uint32 {
	s.common = s.common[:0]
	rest := set
	for s.cells[rest].label > label {
		s.steps++
		s.common = append(s.common, s.cells[rest].label)
		rest = s.cells[rest].rest
	}
	if s.cells[rest].label == label {
		return set
	}
	return s.rebuild(s.cons(label, rest))
}

// rebuild adds the labels of the scratch list to a set of lower ones.
func (s *labelSets) rebuild(set uint32) uint32 {
	for i := len(s.common) - 1; i >= 0; i-- {
		set = s.cons(s.common[i], set)
	}
	return set
}

// meet returns the intersection of two sets. It looks only at the greatest labels, down to the cell
// that both sets have in common, and remembers recent results.
func (s *labelSets) meet(a, b uint32) uint32 {
	if a == b || a == 0 || b == 0 {
		return min(a, b)
	}
	if a < b {
		a, b = b, a
	}
	m := &s.memo[(a*0x9e3779b1^b*0x85ebca6b)>>(32-memoBits)]
	if m.a == a && m.b == b {
		return m.result
	}
	s.common = s.common[:0]
	x, y := a, b
	for x != y {
		s.steps++
		cx, cy := s.cells[x], s.cells[y]
		switch {
		case cx.label > cy.label:
			x = cx.rest
		case cx.label < cy.label:
			y = cy.rest
		default:
			s.common = append(s.common, cx.label)
			x, y = cx.rest, cy.rest
		}
	}
	*m = intersection{a, b, s.rebuild(x)}
	return m.result
}
