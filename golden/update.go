package golden

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// ChangeKind says what an update did to an entry.
type ChangeKind string

// The kinds of change. An entry counts as widened if one bound grew and the other shrank.
const (
	Added     ChangeKind = "added"
	Removed   ChangeKind = "removed"   // it matches nothing any more
	Widened   ChangeKind = "widened"   // a bound no longer held
	Tightened ChangeKind = "tightened" // less is retained
	Unused    ChangeKind = "unused"    // it matches nothing, but its bound allows that; it was kept as it is
)

// A Change is one entry before and after an update.
type Change struct {
	Kind   ChangeKind
	Before Entry // the zero Entry if added
	After  Entry // the zero Entry if removed
}

// String returns the change in one line.
func (c Change) String() string {
	e := c.entry()
	s := fmt.Sprintf("%-9s  %s", c.Kind, quotePath(e.Path))
	if e.Type != anyType {
		s += " " + quoteType(e.Type)
	}
	switch c.Kind {
	case Unused:
		return s + ": matches nothing; kept, because its bound allows that"
	case Added, Removed:
		return s + ": objects " + e.Objects.String() + ", bytes " + e.Bytes.size()
	}
	var parts []string
	if c.Before.Objects != c.After.Objects {
		parts = append(parts, fmt.Sprintf("objects %s -> %s", c.Before.Objects, c.After.Objects))
	}
	if c.Before.Bytes != c.After.Bytes {
		parts = append(parts, fmt.Sprintf("bytes %s -> %s", c.Before.Bytes.size(), c.After.Bytes.size()))
	}
	return s + ": " + strings.Join(parts, ", ")
}

// Update returns a file that the measurements fit, and what had to change for that, sorted by path
// and type. Bounds that hold, comments and patterns stay; see the package comment for the rules.
// The file itself is not changed. Compare of the result finds no difference, and a second update
// changes nothing.
func (f *File) Update(ms []Measurement) (*File, []Change) {
	ms = normalize(ms)
	g := &File{
		name: f.name, headerComment: f.headerComment,
		head: slices.Clone(f.head), tail: slices.Clone(f.tail),
	}

	// A path that is new may itself be a pattern and take over what another entry covered, so the
	// measurements are assigned anew once it has its entry. Removals change no assignment: removed
	// entries cover nothing.
	_, unlisted := assign(f.entries, ms)
	all := slices.Clone(f.entries)
	added := make(map[int]bool, len(unlisted))
	for _, m := range unlisted {
		added[len(all)] = true
		all = append(all, m.entry())
	}
	covered, _ := assign(all, ms)

	var changes []Change
	var orphans []Entry // entries that are removed, for the comments above that are not their own
	for i, before := range all {
		objects, bytes := sum(covered[i])
		after := before
		after.Objects, after.Bytes = before.Objects.refit(objects), before.Bytes.refit(bytes)
		c := Change{Before: before, After: after}
		switch {
		case added[i]:
			c.Kind, c.Before = Added, Entry{}
		case len(covered[i]) == 0 && before.Objects.allowsAbsence():
			c.Kind, c.After = Unused, before
		case len(covered[i]) == 0:
			c.Kind, c.After = Removed, Entry{}
			orphans = append(orphans, before)
		case !before.Objects.Holds(objects) || !before.Bytes.Holds(bytes):
			c.Kind = Widened
		case after != before:
			c.Kind = Tightened
		}
		if c.Kind != Removed {
			g.entries = append(g.entries, c.After)
		}
		if c.Kind != "" {
			changes = append(changes, c)
		}
	}
	g.adopt(orphans)
	if len(f.entries) > 0 {
		g.noteIfEmpty()
	}
	g.arrange()
	g.number()
	return g, g.numbered(changes)
}

// adopt hands the comments above removed entries that are followed by a blank line, and so are not
// the entries' own, to the next entry that is left, or to the end of the file.
func (f *File) adopt(orphans []Entry) {
	sortEntries(f.entries)
	for _, o := range slices.Backward(orphans) {
		shared, _ := splitAbove(splitLines(o.Above))
		if len(shared) == 0 {
			continue
		}
		next := f.search(o.place())
		if next == len(f.entries) {
			f.tail = append(slices.Clone(shared), f.tail...)
			continue
		}
		f.entries[next].Above = joinLines(shared) + f.entries[next].Above
	}
}

// search returns the index of the entry at a place, or where it would be.
func (f *File) search(p place) int {
	return sort.Search(len(f.entries), func(i int) bool { return f.entries[i].place().compare(p) >= 0 })
}

// numbered sorts the changes. It gives the entries in After the line and the comments that they
// have in the file.
func (f *File) numbered(changes []Change) []Change {
	for i := range changes {
		c := &changes[i]
		if c.Kind == Removed {
			continue
		}
		if at := f.search(c.After.place()); at < len(f.entries) && f.entries[at].place() == c.After.place() {
			c.After = f.entries[at]
		}
	}
	sort.Slice(changes, func(i, j int) bool { return changes[i].entry().place().compare(changes[j].entry().place()) < 0 })
	return changes
}

func (c *Change) entry() *Entry {
	if c.Kind == Removed {
		return &c.Before
	}
	return &c.After
}
