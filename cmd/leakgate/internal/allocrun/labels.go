package allocrun

import (
	"cmp"
	"slices"

	"github.com/google/pprof/profile"
)

// unknownType is the label of samples whose type cannot be told from the code.
const unknownType = "(not known)"

// labelTypes gives each sample of an allocation profile the label "type": the type that the code at
// its call allocates. It returns sums of the samples whose type the runtime is not told, by the
// names of their rows.
func labelTypes(p *profile.Profile, program *program, classes []int64) (untypedSums map[string]*sums) {
	untypedSums = make(map[string]*sums)
	for _, s := range p.Sample {
		name := unknownType
		if program != nil && s.Value[0] > 0 {
			stack := make([]uint64, len(s.Location))
			for i, l := range s.Location {
				stack[i] = l.Address
			}
			if a, ok := program.At(stack, sizeOf(s), classes); ok {
				name = a.Name
				switch {
				case a.Boxed != "":
					add(untypedSums, boxed(a.Boxed), name, s)
				case a.Untold:
					add(untypedSums, untyped, name, s)
				}
			}
		}
		if s.Label == nil {
			s.Label = make(map[string][]string)
		}
		s.Label["type"] = []string{name}
	}
	return untypedSums
}

// sizeOf is the size of one object of a sample: estimates of objects and bytes do not tell it.
func sizeOf(s *profile.Sample) int64 {
	if size := s.NumLabel["bytes"]; len(size) > 0 {
		return size[0]
	}
	return s.Value[1] / s.Value[0]
}

func add(to map[string]*sums, row, name string, s *profile.Sample) {
	if to[row] == nil {
		to[row] = new(sums)
	}
	to[row].add(name, s)
}

// typeOf returns the type label of a sample.
func typeOf(s *profile.Sample) string {
	if names := s.Label["type"]; len(names) > 0 {
		return names[0]
	}
	return unknownType
}

// sums are objects and bytes by type.
type sums struct{ of map[string]*SiteType }

func (t *sums) add(name string, s *profile.Sample) {
	if t.of == nil {
		t.of = make(map[string]*SiteType)
	}
	n := t.of[name]
	if n == nil {
		n = &SiteType{Name: name}
		t.of[name] = n
	}
	n.Objects += s.Value[0]
	n.Bytes += s.Value[1]
}

// list returns the sums, the most objects first.
func (t *sums) list() (list []*SiteType) {
	for _, n := range t.of {
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b *SiteType) int {
		return cmp.Or(cmp.Compare(b.Objects, a.Objects), cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
	return list
}
