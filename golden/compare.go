package golden

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// DifferenceKind says how a measurement differs from a golden file.
type DifferenceKind string

// The kinds of difference. Only the first two are failures: fewer objects or bytes than the golden
// file says are no leak.
const (
	Over     DifferenceKind = "over"     // more than the entry allows
	Unlisted DifferenceKind = "unlisted" // retained, but no entry covers it
	// less than the entry's figure: the golden file can be tightened
	Under DifferenceKind = "under"
	// an entry that matches nothing, and that an update would remove
	Gone DifferenceKind = "gone"
)

// A Difference is an entry, or a path without an entry, that does not fit the measurements.
type Difference struct {
	Kind    DifferenceKind
	Entry   Entry         // the entry; for Unlisted the one that an update would add
	Objects int64         // measured, summed over Covered
	Bytes   int64         // the same
	Covered []Measurement // measurements that count towards the entry, sorted by path and type

	ObjectsOver int64 // by how much Objects is more than allowed; for Unlisted all
	BytesOver   int64 // the same for Bytes
}

// Failure reports whether the difference is a retention regression.
func (d Difference) Failure() bool { return d.Kind == Over || d.Kind == Unlisted }

// String returns the difference in one line, without the file's name.
func (d Difference) String() string {
	what := d.Entry.Path
	if d.Entry.Type != "" && d.Entry.Type != anyType {
		what += " " + d.Entry.Type
	}
	switch d.Kind {
	case Unlisted:
		return fmt.Sprintf("%s: %s, %s, not in the golden file", what, count(d.Objects, "object"), count(d.Bytes, "byte"))
	case Gone:
		return what + ": in the golden file, but nothing is retained there now"
	}
	var parts []string
	add := func(n int64, unit string, b Bound, text string) {
		switch {
		case !b.Holds(n):
			parts = append(parts, fmt.Sprintf("%s, golden %s (+%d)", count(n, unit), text, b.excess(n)))
		case b.Loose(n) && d.Kind == Under:
			parts = append(parts, fmt.Sprintf("only %s, golden %s", count(n, unit), text))
		}
	}
	add(d.Objects, "object", d.Entry.Objects, d.Entry.Objects.String())
	add(d.Bytes, "byte", d.Entry.Bytes, d.Entry.Bytes.size())
	return what + ": " + strings.Join(parts, "; ")
}

func count(n int64, unit string) string {
	if n != 1 {
		unit += "s"
	}
	return strconv.FormatInt(n, 10) + " " + unit
}

// Compare returns how the measurements differ from the file, failures first, then sorted by path
// and type; nil if they fit it exactly.
//
// Only growth fails. Fewer objects or bytes than an exact bound or a tolerance says are reported as
// Under, so that the file can be tightened, and an entry that matches nothing as Gone, unless its
// bound on objects (<=N or *) allows that. Each difference is one that an update would remove.
func (f *File) Compare(ms []Measurement) []Difference {
	covered, unlisted := assign(f.entries, normalize(ms))
	var out []Difference
	for i, e := range f.entries {
		d := Difference{Entry: e, Covered: covered[i]}
		d.Objects, d.Bytes = sum(covered[i])
		d.ObjectsOver, d.BytesOver = e.Objects.excess(d.Objects), e.Bytes.excess(d.Bytes)
		switch {
		case len(d.Covered) == 0 && e.Objects.allowsAbsence():
			continue
		case len(d.Covered) == 0:
			d.Kind = Gone
		case d.ObjectsOver > 0 || d.BytesOver > 0:
			d.Kind = Over
		case e.Objects.Loose(d.Objects) || e.Bytes.Loose(d.Bytes):
			d.Kind = Under
		default:
			continue
		}
		out = append(out, d)
	}
	for _, m := range unlisted {
		out = append(out, Difference{
			Kind: Unlisted, Entry: m.entry(), Covered: []Measurement{m},
			Objects: m.Objects, Bytes: m.Bytes, ObjectsOver: m.Objects, BytesOver: m.Bytes,
		})
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := &out[i], &out[j]
		if a.Failure() != b.Failure() {
			return a.Failure()
		}
		return a.Entry.place().compare(b.Entry.place()) < 0
	})
	return out
}
