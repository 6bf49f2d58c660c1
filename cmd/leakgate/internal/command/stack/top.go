package stack

import (
	"fmt"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/internal/pprofwire"
	"github.com/leakgate/leakgate/stackprof"
)

// topFunctions sums a stack profile up by function, the largest flat value first. It fails for a
// profile of another kind.
func topFunctions(p *profile.Profile) ([]stackprof.Function, error) {
	total, goroutines := sampleType(p, stackprof.Total), sampleType(p, stackprof.Goroutines)
	if total < 0 || goroutines < 0 {
		return nil, fmt.Errorf("stackfile: this is no stack profile: it has no sample types %s and %s", stackprof.Total, stackprof.Goroutines)
	}
	var t pprofwire.FunctionTable
	for _, s := range p.Sample {
		var names []string
		for _, l := range s.Location {
			for _, line := range l.Line {
				if line.Function != nil {
					names = append(names, line.Function.Name)
				}
			}
		}
		t.Add(names, s.Value[total], s.Value[goroutines])
	}
	return t.Functions(), nil
}

func sampleType(p *profile.Profile, name string) int {
	return slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == name })
}
