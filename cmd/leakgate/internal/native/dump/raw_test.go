package dump

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

// named is a profile with what its text can have: inlined functions, names with spaces, addresses
// without names, mappings with and without a build ID.
func named() *profile.Profile {
	grow := &profile.Function{ID: 1, Name: "list<a, b>::grow(int)", SystemName: "_ZN4list4growEi", Filename: "/src/list.h", StartLine: 3}
	work := &profile.Function{ID: 2, Name: "work", SystemName: "work", Filename: "app.c", StartLine: 10}
	app := &profile.Mapping{ID: 1, Start: 0x400000, Limit: 0x500000, Offset: 0x1000, File: "/bin/an app", BuildID: "0123456789abcdef", HasFunctions: true, HasLineNumbers: true}
	anonymous := &profile.Mapping{ID: 2, Start: 0x7f0000000000, Limit: 0x7f0000010000}
	locations := []*profile.Location{
		{ID: 1, Address: 0x401234, Mapping: app, Line: []profile.Line{{Function: grow, Line: 5, Column: 2}, {Function: work, Line: 12}}},
		{ID: 2, Address: 0x7f0000000040, Mapping: anonymous},
		{ID: 3, Address: 0x99},
	}
	return &profile.Profile{
		Comments: []string{"of a test"}, PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"}, Period: 512,
		SampleType:        []*profile.ValueType{{Type: "objects", Unit: "count"}, {Type: "space", Unit: "bytes"}},
		DefaultSampleType: "space", Location: locations, Function: []*profile.Function{grow, work}, Mapping: []*profile.Mapping{app, anonymous},
		Sample: []*profile.Sample{
			{Value: []int64{1, 524288}, Location: locations[:2], Label: map[string][]string{"type": {"a: 1"}}, NumLabel: map[string][]int64{"bytes": {12345678901234}}},
			{Value: []int64{-12345678901, 7}, Location: []*profile.Location{locations[2], locations[0]}},
		},
	}
}

// What google/pprof prints of a profile is read as the same profile, but for labels and columns.
func TestRaw(t *testing.T) {
	p := named()
	f, err := ParseHeapProfile([]byte(p.String()))
	require.NoError(t, err)
	require.Equal(t, Pprof, f.Format)
	require.Len(t, f.Maps, 2)
	require.Equal(t, "/bin/an app", f.Maps[0].File)
	require.Equal(t, p.Mapping[0].BuildID, f.Maps[0].BuildID)
	for _, s := range p.Sample {
		s.Label, s.NumLabel, s.NumUnit = nil, nil, nil
	}
	p.Location[0].Line[0].Column = 0
	p.Mapping[0].HasFunctions, p.Mapping[0].HasLineNumbers = false, false
	require.Equal(t, p.String(), f.Profile.String())

	older := strings.NewReplacer(":5:0 s", ":5 s", ":12:0 s", ":12 s").Replace(p.String())
	f, err = ParseHeapProfile([]byte(older))
	require.NoError(t, err)
	require.Equal(t, p.String(), f.Profile.String())
}

func TestRawErrors(t *testing.T) {
	text := named().String()
	for old, want := range map[string]string{
		"Mappings":               "that pprof -raw prints there",
		"     2: 0x7f0000000040": "it has no location 2",
		"2: 0x7f0000000000/":     "it has no mapping 2, which location 2 is of",
		"objects/count":          "line 6 is none that pprof -raw prints there",
		"     524288: 1 2":       "that pprof -raw prints there",
	} {
		require.Contains(t, text, old)
		i := strings.Index(text, old)
		end := i + strings.IndexByte(text[i:], '\n')
		broken := text[:i] + text[end:]
		_, err := ParseHeapProfile([]byte(broken))
		require.ErrorContains(t, err, want, "%s", broken)
	}
	_, err := ParseHeapProfile([]byte(text[:strings.Index(text, "Mappings")]))
	require.ErrorContains(t, err, "it may be cut off")
}

func TestCollapsed(t *testing.T) {
	const text = "main;list::grow(int, int);0x7f0000000040 12\n\n# comment\nmain;[0x99] 3\nmain 4\n"
	f, err := ParseHeapProfile([]byte(text))
	require.NoError(t, err)
	require.Equal(t, Collapsed, f.Format)
	require.Len(t, f.Profile.Sample, 3)
	first := f.Profile.Sample[0]
	require.Equal(t, []int64{12}, first.Value)
	require.EqualValues(t, 0x7f0000000040, first.Location[0].Address)
	require.Empty(t, first.Location[0].Line)
	require.Equal(t, "list::grow(int, int)", first.Location[1].Line[0].Function.Name)
	require.Same(t, first.Location[2], f.Profile.Sample[2].Location[0], "a frame is one location")

	_, err = ParseHeapProfile([]byte("main;f 12\nmain;g\n"))
	require.ErrorContains(t, err, "it is neither a text of")
	require.ErrorContains(t, err, `as stacks: line 2 is no stack with a number at its end: "main;g"`)
}

func TestWriteCollapsed(t *testing.T) {
	p := named()
	g := &profile.Function{ID: 3, Name: "a;b", SystemName: "a;b"}
	p.Function = append(p.Function, g)
	p.Location[1].Line, p.Location[2].Line = []profile.Line{{Function: g}}, []profile.Line{{Function: g}}
	p.Sample = append(p.Sample, &profile.Sample{Value: []int64{1, 2}, Location: p.Sample[0].Location})
	var b bytes.Buffer
	require.NoError(t, WriteCollapsed(&b, p))
	require.Equal(t, "a:b;work;list<a, b>::grow(int) 524290\nwork;list<a, b>::grow(int);a:b 7\n", b.String())
	p.DefaultSampleType = "objects"
	var objects bytes.Buffer
	require.NoError(t, WriteCollapsed(&objects, p))
	require.Equal(t, "a:b;work;list<a, b>::grow(int) 2\nwork;list<a, b>::grow(int);a:b -12345678901\n", objects.String())
	f, err := ParseHeapProfile(b.Bytes())
	require.NoError(t, err)
	b.Reset()
	require.NoError(t, WriteCollapsed(&b, f.Profile))
	require.Equal(t, "a:b;work;list<a, b>::grow(int) 524290\nwork;list<a, b>::grow(int);a:b 7\n", b.String())
}
