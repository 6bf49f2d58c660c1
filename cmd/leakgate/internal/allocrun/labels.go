package allocrun

import (
	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/allocsite"
)

// unknownType is the label of samples whose type the code does not tell.
const unknownType = "(not known)"

// labelTypes gives each sample of an allocation profile the label "type": what the code at its call
// allocates.
func labelTypes(p *profile.Profile, program *allocsite.Program, classes []int64) {
	for _, s := range p.Sample {
		name := unknownType
		if program != nil && s.Value[0] > 0 {
			stack := make([]uint64, len(s.Location))
			for i, l := range s.Location {
				stack[i] = l.Address
			}
			if told, ok := program.TypeOf(stack, s.Value[1]/s.Value[0], classes); ok {
				name = told
			}
		}
		if s.Label == nil {
			s.Label = make(map[string][]string)
		}
		s.Label["type"] = []string{name}
	}
}

// typeOf is a sample's label.
func typeOf(s *profile.Sample) string {
	if names := s.Label["type"]; len(names) > 0 {
		return names[0]
	}
	return unknownType
}
