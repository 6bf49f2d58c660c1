package golden

import (
	"fmt"
	"regexp"
)

// Calibrate returns the file with the tightest bounds that hold for all runs, and how it differs
// from f. Each of runs is a file that New made from the measurements of one run. f may be nil:
// there is no file yet.
//
// A figure that was the same in all runs becomes exact, or keeps the tolerance that its kind of
// memory needs. A figure that varied becomes <= the largest, and its line gets a comment with the
// range, unless it has a comment already. Objects that only some runs retained may be missing.
// Patterns and comments of f stay, and so does the bound *, by which a human says that the figure
// means nothing.
func Calibrate(f *File, runs []*File) (*File, []Change) {
	if f == nil {
		f = New(nil)
	}
	measured := make([][]Measurement, len(runs))
	var all []Measurement
	for i, run := range runs {
		measured[i] = run.measurements()
		all = append(all, measured[i]...)
	}
	g, _ := f.Update(largest(all))
	ranges := make([]span, len(g.entries))
	for i, ms := range measured {
		covered, _ := assign(g.entries, normalize(ms))
		for j := range g.entries {
			ranges[j].add(covered[j], i == 0)
		}
	}
	own := regexp.MustCompile(seen) // compiled here: tests link this package and do not need it
	for j := range g.entries {
		ranges[j].fit(&g.entries[j], len(runs), own)
	}
	g.arrange()
	g.number()
	return g, Changes(f, g)
}

// Changes returns how the entries of two files differ, sorted by path and type.
func Changes(before, after *File) []Change {
	var changes []Change
	i, j := 0, 0
	for i < len(before.entries) || j < len(after.entries) {
		order := 0
		switch {
		case i == len(before.entries):
			order = 1
		case j == len(after.entries):
			order = -1
		default:
			order = before.entries[i].place().compare(after.entries[j].place())
		}
		switch {
		case order < 0:
			changes = append(changes, Change{Kind: Removed, Before: before.entries[i]})
			i++
		case order > 0:
			changes = append(changes, Change{Kind: Added, After: after.entries[j]})
			j++
		default:
			b, a := before.entries[i], after.entries[j]
			if b.Objects != a.Objects || b.Bytes != a.Bytes {
				kind := Tightened
				if a.Objects.allowsMoreThan(b.Objects) || a.Bytes.allowsMoreThan(b.Bytes) {
					kind = Widened
				}
				changes = append(changes, Change{Kind: kind, Before: b, After: a})
			}
			i++
			j++
		}
	}
	return changes
}

func (b Bound) allowsMoreThan(other Bound) bool {
	most, limited := b.Max()
	otherMost, otherLimited := other.Max()
	return otherLimited && (!limited || most > otherMost)
}

// measurements returns the measurements from which New made f.
func (f *File) measurements() []Measurement {
	ms := make([]Measurement, len(f.entries))
	for i, e := range f.entries {
		ms[i] = Measurement{Path: e.Path, Type: e.Type, Objects: e.Objects.figure, Bytes: e.Bytes.figure, BytesTolerance: e.Bytes.percent}
	}
	return ms
}

// largest returns one measurement for each path and type, with the largest figures of all runs.
func largest(ms []Measurement) []Measurement {
	return byPlace(ms, func(a, b int64) int64 { return max(a, b) })
}

// A span is the range of an entry's figures over several runs.
type span struct {
	objects, bytes [2]int64 // least and most
	tolerance      int
	missing        bool // in some run
}

func (s *span) add(covered []Measurement, first bool) {
	objects, bytes := sum(covered)
	if first {
		s.objects, s.bytes = [2]int64{objects, objects}, [2]int64{bytes, bytes}
	}
	s.objects = [2]int64{min(s.objects[0], objects), max(s.objects[1], objects)}
	s.bytes = [2]int64{min(s.bytes[0], bytes), max(s.bytes[1], bytes)}
	s.missing = s.missing || len(covered) == 0
	for _, m := range covered {
		s.tolerance = max(s.tolerance, m.BytesTolerance)
	}
}

// seen matches a comment that Calibrate has written.
const seen = `^seen \d+\.\.\d+ objects, \d+\.\.\d+ bytes in \d+ runs$`

// fit gives e the tightest bounds that hold for s. It replaces a comment that Calibrate has
// written.
func (s *span) fit(e *Entry, runs int, own *regexp.Regexp) {
	if e.Objects.form != anything {
		e.Objects = Exactly(s.objects[1])
		if s.objects[0] < s.objects[1] || s.missing {
			e.Objects = AtMost(s.objects[1])
		}
	}
	if e.Bytes.form != anything {
		e.Bytes = Within(s.bytes[1], s.tolerance)
		if e.Bytes.Loose(s.bytes[0]) {
			e.Bytes = AtMost(s.bytes[1])
		}
	}
	if e.Comment == "" || own.MatchString(e.Comment) {
		e.Comment = ""
		if s.objects[0] < s.objects[1] || s.bytes[0] < s.bytes[1] {
			e.Comment = fmt.Sprintf("seen %d..%d objects, %d..%d bytes in %d runs", s.objects[0], s.objects[1], s.bytes[0], s.bytes[1], runs)
		}
	}
}
