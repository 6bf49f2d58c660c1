package compare

import (
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A stack is a sample: its frames, the outermost first, and a value for each type.
type stack struct {
	frames []string
	values []int64
}

// profileOf makes a profile of references or, with a mapping, one of functions.
func profileOf(types []string, mapped bool, stacks ...stack) *profile.Profile {
	p := &profile.Profile{}
	for i := 0; i < len(types); i += 2 {
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: types[i], Unit: types[i+1]})
	}
	var m *profile.Mapping
	if mapped {
		m = &profile.Mapping{ID: 1, Limit: 1 << 20}
		p.Mapping = []*profile.Mapping{m}
	}
	at := make(map[string]*profile.Location)
	for _, s := range stacks {
		sample := &profile.Sample{Value: s.values}
		for _, name := range s.frames {
			l := at[name]
			if l == nil {
				f := &profile.Function{ID: uint64(len(at) + 1), Name: name, SystemName: name}
				l = &profile.Location{ID: f.ID, Mapping: m, Address: f.ID << 4, Line: []profile.Line{{Function: f}}}
				at[name] = l
				p.Function, p.Location = append(p.Function, f), append(p.Location, l)
			}
			sample.Location = append([]*profile.Location{l}, sample.Location...)
		}
		p.Sample = append(p.Sample, sample)
	}
	return p
}

var inUse = []string{"inuse_objects", "count", "inuse_space", "bytes"}

func one(name string, objects, bytes Change) Row {
	return Row{Name: name, Objects: objects, Bytes: bytes}
}

func change(before, after int64) Change { return Change{Series{before}, Series{after}} }

func TestProfilesOfReferences(t *testing.T) {
	before := profileOf(inUse, false,
		stack{[]string{"app.sessions", "app.sessions[*]", "app.sessions[*].user"}, []int64{5, 80}},
		stack{[]string{"app.same"}, []int64{2, 32}},
		stack{[]string{"app.gone", "app.gone[$key]"}, []int64{1, 8}},
		stack{[]string{"timer(app·(*T)·tick)", "timer(app·(*T)·tick).buf"}, []int64{1, 8}},
	)
	after := profileOf(inUse, false,
		stack{[]string{"app.sessions", "app.sessions[*]", "app.sessions[*].user"}, []int64{9, 144}},
		stack{[]string{"app.same"}, []int64{2, 32}},
		stack{[]string{"app.new", "app.new[*]", "app.new[*].next"}, []int64{1, 8}},
		stack{[]string{"app.more", "app.more.list"}, []int64{3, 8}},
		stack{[]string{"timer(app·(*T)·tick)", "timer(app·(*T)·tick).buf"}, []int64{2, 8}},
	)
	rows, err := Profiles(before, after)
	require.NoError(t, err)
	assert.Equal(t, []Row{
		one("app.sessions[*].user", change(5, 9), change(80, 144)),
		// of equal bytes, the more objects first, then by name
		one("app.more.list", change(0, 3), change(0, 8)),
		one("app.gone[$key]", change(1, 0), change(8, 0)),
		one("app.new[*].next", change(0, 1), change(0, 8)),
		one("timer(app.(*T).tick).buf", change(1, 2), change(8, 8)),
	}, rows)

	rows, err = Profiles(before, before)
	require.NoError(t, err)
	assert.Empty(t, rows)
}

func TestProfilesOfFunctions(t *testing.T) {
	types := []string{"alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "count", "inuse_space", "bytes"}
	before := profileOf(types, true,
		stack{[]string{"main.main", "app.a. (x)"}, []int64{100, 1000, 1, 10}},
		stack{[]string{"main.other", "app.a. (x)"}, []int64{100, 1000, 2, 20}},
	)
	after := profileOf(types, true, stack{[]string{"main.main", "app.a. (x)"}, []int64{500, 5000, 4, 40}})
	rows, err := Profiles(before, after)
	require.NoError(t, err)
	assert.Equal(t, []Row{one("app.a. (x)", change(3, 4), change(30, 40))}, rows, "by the innermost function, and what is in use")

	stripped := profileOf(types, true, stack{[]string{"f"}, []int64{0, 0, 1, 8}}, stack{nil, []int64{0, 0, 1, 4}})
	stripped.Location[0].Line = nil
	rows, err = Profiles(profileOf(types, true), stripped)
	require.NoError(t, err)
	assert.Equal(t, []Row{one("0x10", change(0, 1), change(0, 8)), one("(none)", change(0, 1), change(0, 4))}, rows)
}

func TestProfilesOfOtherThings(t *testing.T) {
	cpu, heap := profileOf([]string{"samples", "count", "cpu", "nanoseconds"}, true), profileOf(inUse, true)
	_, err := Profiles(cpu, heap)
	assert.EqualError(t, err, "the old profile: it has no values in count and bytes, but samples/count, cpu/nanoseconds")
	_, err = Profiles(heap, cpu)
	assert.ErrorContains(t, err, "the new profile: ")
}

func TestDifference(t *testing.T) {
	before := []*profile.Profile{
		profileOf(inUse, true, stack{[]string{"f"}, []int64{1, 10}}),
		profileOf(inUse, true, stack{[]string{"g"}, []int64{2, 20}}),
	}
	after := []*profile.Profile{profileOf(inUse, true, stack{[]string{"f"}, []int64{5, 50}})}
	texts := []string{before[0].String(), before[1].String(), after[0].String()}

	diff, err := Difference(before, after)
	require.NoError(t, err)
	require.NoError(t, diff.CheckValid())
	found := make(map[string][]int64)
	for _, s := range diff.Sample {
		name := s.Location[0].Line[0].Function.Name
		if s.HasLabel(baseLabel, "true") {
			name = "base " + name
		}
		found[name] = s.Value
	}
	assert.Equal(t, map[string][]int64{"f": {5, 50}, "base f": {-1, -10}, "base g": {-2, -20}}, found)
	assert.Equal(t, texts, []string{before[0].String(), before[1].String(), after[0].String()}, "what is compared stays as it is")

	_, err = Difference(before, []*profile.Profile{profileOf([]string{"cpu", "nanoseconds"}, true)})
	assert.Error(t, err)
}
