package symbolize

import (
	"bytes"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/native/dump"
)

// belowLibrary has generated code right below a library whose file is missing (google/pprof merges
// the two mappings), an address in no mapping, and an address in memory that is not executable.
const belowLibrary = `heap profile:      5:  5000 [     5:  5000] @ heapprofile
     1:     1000 [     1:     1000] @ 0x7ff4d5650001
     1:     1000 [     1:     1000] @ 0x7ff4d5670001
     1:     1000 [     1:     1000] @ 0x7ff4d5740001
     1:     1000 [     1:     1000] @ 0x1001
     1:     1000 [     1:     1000] @ 0x7ff4d5800001

MAPPED_LIBRARIES:
7ff4d5647000-7ff4d5662000 r-xp 00000000 00:00 0
7ff4d5662000-7ff4d5736000 rwxp 00000000 00:00 0
7ff4d5736000-7ff4d5753000 r-xp 00002000 00:00 3277415 /no/such/libleafInterface.so
7ff4d5800000-7ff4d5801000 rw-p 00000000 00:00 0 [heap]
`

// apply names the addresses of a text. It returns the names and mappings of the samples' first
// locations as a viewer sees them: after the profile is written, read and made compact.
func apply(t *testing.T, text string, s *Sources) (names, mappings []string, r *Result) {
	t.Helper()
	f, err := dump.ParseHeapProfile([]byte(text))
	require.NoError(t, err)
	if s.Maps == nil {
		s.Maps = f.Maps
	}
	r, err = Apply(f, s)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, f.Profile.Write(&b))
	p, err := profile.ParseData(b.Bytes())
	require.NoError(t, err)
	for _, s := range p.Compact().Sample {
		names = append(names, s.Location[0].Line[0].Function.Name)
		mapping := ""
		if m := s.Location[0].Mapping; m != nil {
			mapping = m.File
		}
		mappings = append(mappings, mapping)
	}
	return names, mappings, r
}

func TestNeighbours(t *testing.T) {
	names, mappings, r := apply(t, belowLibrary, new(Sources))
	require.Equal(t, []string{
		"[anonymous:7ff4d5647000]+0x9000", "[anonymous:7ff4d5662000]+0xe000", "libleafInterface.so+0xc000", "0x1000", "[heap]:7ff4d5800000+0x0",
	}, names)
	require.Equal(t, []string{
		"[anonymous:7ff4d5647000]", "[anonymous:7ff4d5662000]", "/no/such/libleafInterface.so", "", "[heap]:7ff4d5800000",
	}, mappings)
	require.Equal(t, 5, r.Addresses)
	require.Zero(t, r.Named)
	require.Len(t, r.Modules, 5)
	require.Contains(t, r.Modules[0].Names, "-jit and -perf-map")
	require.Equal(t, "the file is not there", r.Modules[2].Names)
	require.True(t, r.Modules[2].Unusable)
	require.Contains(t, r.Modules[4].Names, "memory without code")
	require.Equal(t, "nothing was mapped there when the memory map was written", r.Modules[3].Names)
}

func TestPerfMap(t *testing.T) {
	var err error
	s := new(Sources)
	s.PerfMap, _, err = ParsePerfMap([]byte("7ff4d5650000 10 JS:*leak\n7ff4d5670010 10 JS:*next\n"))
	require.NoError(t, err)
	names, _, r := apply(t, belowLibrary, s)
	require.Equal(t, "JS:*leak", names[0])
	require.Equal(t, "[anonymous:7ff4d5662000]+0xe000", names[1], "no neighbour's name")
	require.Equal(t, 1, r.Named)
	require.Equal(t, "generated code, by the map of perf's", r.Modules[0].Names)
}

// TestOtherMap uses a memory map in place of the profile's own.
func TestOtherMap(t *testing.T) {
	maps, err := dump.ParseMaps([]byte("1000-2000 r-xp 00000000 00:00 0 [vdso]\n"))
	require.NoError(t, err)
	names, mappings, _ := apply(t, belowLibrary, &Sources{Maps: maps})
	require.Equal(t, "[vdso]+0x0", names[3])
	require.Equal(t, []string{"", "", "", "[vdso]", ""}, mappings)
	require.Equal(t, "0x7ff4d5650000", names[0])
}

// TestNamesStay checks that the names and mappings of a profile stay, and that a mapping that
// stands for all memory does not count as one.
func TestNamesStay(t *testing.T) {
	all := &profile.Mapping{ID: 1, Limit: ^uint64(0)}
	own := &profile.Mapping{ID: 2, Start: 0x1000, Limit: 0x2000, File: "/no/such/app"}
	fn := &profile.Function{ID: 1, Name: "main.main", SystemName: "main.main"}
	locations := []*profile.Location{
		{ID: 1, Mapping: own, Address: 0x1500, Line: []profile.Line{{Function: fn, Line: 7}}},
		{ID: 2, Mapping: own, Address: 0x1600},
		{ID: 3, Mapping: all, Address: 0x1700},
		{ID: 4, Mapping: all, Address: 0x9000},
	}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "inuse_space", Unit: "bytes"}}, Mapping: []*profile.Mapping{all, own}, Location: locations, Function: []*profile.Function{fn},
	}
	for _, l := range locations {
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{1}})
	}
	f := &dump.HeapProfile{Format: dump.Pprof, Profile: p}
	for _, m := range p.Mapping {
		f.Maps = append(f.Maps, dump.MappingOf(m))
	}
	r, err := Apply(f, new(Sources))
	require.NoError(t, err)
	require.Equal(t, 1, r.Named)
	var names []string
	for _, l := range p.Location {
		names = append(names, l.Line[0].Function.Name)
	}
	require.Equal(t, []string{"main.main", "app+0x600", "app+0x700", "0x9000"}, names)
	require.EqualValues(t, 7, p.Location[0].Line[0].Line)
	require.Nil(t, p.Location[3].Mapping)
}

func TestAnotherProcess(t *testing.T) {
	here := []*dump.Mapping{{Start: 0x1000, End: 0x2000, File: "/bin/app"}, {Start: 0x5000, End: 0x6000, File: "/lib/x.so"}}
	require.ErrorContains(t, sameProcess(here, []*dump.Mapping{{Start: 0x3000, End: 0x4000, File: "/bin/app", BuildID: "ab"}}), "another process")
	require.NoError(t, sameProcess(here, []*dump.Mapping{{Start: 0x1000, End: 0x2000, File: "/bin/app", BuildID: "ab"}}))
	require.Equal(t, "ab", here[0].BuildID)
	require.Empty(t, here[1].BuildID)
}
