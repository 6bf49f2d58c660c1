package results

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

// writeProfile writes a profile whose samples are stacks of names, the leaf first, with objects and
// bytes. In a profile of references the locations have no mapping.
func writeProfile(t *testing.T, path string, references bool, samples map[string][2]int64, stacks map[string][]string) {
	t.Helper()
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}}}
	var mapping *profile.Mapping
	if !references {
		mapping = &profile.Mapping{ID: 1, File: "app.test"}
		p.Mapping = []*profile.Mapping{mapping}
	}
	locations := make(map[string]*profile.Location)
	for key, value := range samples {
		s := &profile.Sample{Value: value[:]}
		for _, name := range stacks[key] {
			if locations[name] == nil {
				f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name}
				p.Function = append(p.Function, f)
				locations[name] = &profile.Location{ID: f.ID, Mapping: mapping, Line: []profile.Line{{Function: f}}}
				p.Location = append(p.Location, locations[name])
			}
			s.Location = append(s.Location, locations[name])
		}
		p.Sample = append(p.Sample, s)
	}
	var b bytes.Buffer
	require.NoError(t, p.Write(&b))
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o666))
}
