package golden

import "slices"

// Tighten returns the file with its bounds lowered, and the changes. The new bounds are the highest
// that the files seen have for the same path and type. It is a ratchet: no bound rises, and no
// entry is added. An entry that is in none of the files seen is removed, unless its bound on
// objects (<=N or *) allows that nothing is there. Without files seen, nothing changes.
//
// The files seen are results of Update on f, one for each run. Comments stay, as with Update.
func (f *File) Tighten(seen ...*File) (*File, []Change) {
	g := &File{
		name: f.name, headerComment: f.headerComment,
		head: slices.Clone(f.head), tail: slices.Clone(f.tail),
	}
	if len(seen) == 0 {
		g.entries = slices.Clone(f.entries)
		return g, nil
	}
	highest := make(map[place]Entry)
	for _, s := range seen {
		for _, e := range s.entries {
			if h, ok := highest[e.place()]; ok {
				e.Objects, e.Bytes = higher(h.Objects, e.Objects), higher(h.Bytes, e.Bytes)
			}
			highest[e.place()] = e
		}
	}

	var changes []Change
	var orphans []Entry
	for _, before := range f.entries {
		h, found := highest[before.place()]
		if !found {
			if before.Objects.allowsAbsence() {
				g.entries = append(g.entries, before)
				continue
			}
			changes = append(changes, Change{Kind: Removed, Before: before})
			orphans = append(orphans, before)
			continue
		}
		after := before
		after.Objects, after.Bytes = lower(before.Objects, h.Objects), lower(before.Bytes, h.Bytes)
		if after != before {
			changes = append(changes, Change{Kind: Tightened, Before: before, After: after})
		}
		g.entries = append(g.entries, after)
	}
	g.adopt(orphans)
	g.arrange()
	g.number()
	return g, g.numbered(changes)
}

// higher returns the bound that allows more.
func higher(a, b Bound) Bound {
	if allowsMore(b, a) {
		return b
	}
	return a
}

// lower returns to if that allows less than from, else from.
func lower(from, to Bound) Bound {
	if allowsMore(from, to) {
		return to
	}
	return from
}

// allowsMore reports whether a allows a larger number than b.
func allowsMore(a, b Bound) bool {
	most, limited := a.Max()
	than, thanLimited := b.Max()
	return thanLimited && (!limited || most > than)
}
