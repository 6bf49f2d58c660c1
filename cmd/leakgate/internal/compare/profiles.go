package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Profiles compares two profiles: a row for each path or function whose figures differ, the largest
// change in bytes first. In a profile of references (retained.pb.gz) rows are paths from a root,
// elements folded to [*]; in any other they are the functions at the leaves. The profiles need
// values in a count and in bytes, as those of leakgate and heap profiles have.
func Profiles(before, after *profile.Profile) ([]Row, error) {
	t := NewTally(1)
	if err := t.addProfile(0, before); err != nil {
		return nil, fmt.Errorf("the old profile: %w", err)
	}
	if err := t.addProfile(1, after); err != nil {
		return nil, fmt.Errorf("the new profile: %w", err)
	}
	var rows []Row
	for _, r := range t.Rows {
		if r.Objects.Delta() != 0 || r.Bytes.Delta() != 0 {
			rows = append(rows, *r)
		}
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(
			cmp.Compare(magnitude(b.Bytes.Delta()), magnitude(a.Bytes.Delta())),
			cmp.Compare(magnitude(b.Objects.Delta()), magnitude(a.Objects.Delta())),
			strings.Compare(a.Name, b.Name),
		)
	})
	return rows, nil
}

func magnitude(n int64) int64 { return max(n, -n) }

func (t *Tally) addProfile(side int, p *profile.Profile) error {
	objects := valueIndex(p, "count")
	bytes := valueIndex(p, "bytes")
	if objects < 0 || bytes < 0 {
		return fmt.Errorf("it has no values in count and bytes, but %s", valueTypes(p))
	}
	name := leafName
	if isReferences(p) {
		name = pathName
	}
	for _, s := range p.Sample {
		t.Add("", name(s), side, 0, s.Value[objects], s.Value[bytes])
	}
	return nil
}

// valueIndex returns the index of the value type with a unit, or -1. Of several it takes the one in
// use, which "go tool pprof" shows.
func valueIndex(p *profile.Profile, unit string) int {
	found := -1
	for i, t := range p.SampleType {
		if t.Unit == unit && (found < 0 || strings.HasPrefix(t.Type, "inuse_")) {
			found = i
		}
	}
	return found
}

func valueTypes(p *profile.Profile) string {
	var types []string
	for _, t := range p.SampleType {
		types = append(types, t.Type+"/"+t.Unit)
	}
	return strings.Join(types, ", ")
}

// isReferences reports whether a profile's frames are references: they have no mapping.
func isReferences(p *profile.Profile) bool {
	return len(p.Location) > 0 && !slices.ContainsFunc(p.Location, func(l *profile.Location) bool { return l.Mapping != nil })
}

// leafName returns the name of a sample's innermost function, its address if unnamed.
func leafName(s *profile.Sample) string {
	if len(s.Location) == 0 {
		return "(none)"
	}
	l := s.Location[0]
	if len(l.Line) == 0 || l.Line[0].Function == nil {
		return fmt.Sprintf("%#x", l.Address)
	}
	return l.Line[0].Function.Name
}

// pathName returns the path of a sample of references as leakcheck's messages and golden files have
// it. The name of each frame is its whole path, with "·" for the dots within parentheses, so that
// pprof does not cut there.
func pathName(s *profile.Sample) string { return strings.ReplaceAll(leafName(s), "·", ".") }

// baseLabel marks the samples of the base, as "pprof -diff_base" does, so that pprof's percentages
// are relative to the base (github.com/google/pprof internal/driver).
const baseLabel = "pprof::base"

// Difference returns a profile of after minus before, for "go tool pprof". It changes neither.
func Difference(before, after []*profile.Profile) (*profile.Profile, error) {
	var all []*profile.Profile
	for _, p := range after {
		all = append(all, p.Copy())
	}
	for _, p := range before {
		p = p.Copy()
		p.Scale(-1)
		p.SetLabel(baseLabel, []string{"true"})
		all = append(all, p)
	}
	if err := profile.CompatibilizeSampleTypes(all); err != nil {
		return nil, err
	}
	return profile.Merge(all)
}
