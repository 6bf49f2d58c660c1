package golden

import (
	"slices"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
)

// Types that other Go versions and builds name otherwise count towards the lines of their paths,
// one type for each line, and no more objects than these allow.
func TestTypesInOtherWords(t *testing.T) {
	f := mustParse(t, v1+`
1 16 app.opts[*] func app.init.With.func1
2 32 app.opts[*] func app.init.Named.func1
1 600 app.cases *[3]app.Case
1 16 app.last *app.Case
1 16 app.any.** *
1 16 app.run.$temporary func app.open.func1
1 64 app.run.$temporary.f *app.File
`)
	closures := func(first, second int64) []Measurement {
		return []Measurement{
			{Path: "app.opts[*]", Type: "func app/lib.With.func1", Objects: first, Bytes: 16 * first},
			{Path: "app.opts[*]", Type: "func app/lib.Named.func1", Objects: second, Bytes: 16 * second},
		}
	}
	others := []Measurement{{Path: "app.last", Type: "*app.Case", Objects: 1, Bytes: 16}, {Path: "app.any.x", Type: "int", Objects: 1, Bytes: 16}}
	deferred := func(by string) []Measurement {
		return []Measurement{{Path: "app.run." + by, Type: "func app.open.func1", Objects: 1, Bytes: 16}, {Path: "app.run." + by + ".f", Type: "*app.File", Objects: 1, Bytes: 64}}
	}
	array := Measurement{Path: "app.cases", Type: "[]app.Case", Objects: 1, Bytes: 600}
	for _, tt := range []struct {
		name string
		ms   []Measurement
		want []DifferenceKind
	}{
		{"same", append(closures(1, 2), array), nil},
		{"the other way round", append(closures(2, 1), array), nil},
		{"more", append(closures(1, 3), array), []DifferenceKind{Over}},
		{"a third", append(closures(1, 2), array, Measurement{Path: "app.opts[*]", Type: "func app.x", Objects: 1, Bytes: 16}), []DifferenceKind{Unlisted}},
		{"elsewhere", append(closures(1, 2), array, Measurement{Path: "app.x", Type: "func app.x", Objects: 1, Bytes: 16}), []DifferenceKind{Unlisted}},
		{"another length", append(closures(1, 2), Measurement{Path: "app.cases", Type: "*[4]app.Case", Objects: 1, Bytes: 600}), nil},
		{"another element", append(closures(1, 2), Measurement{Path: "app.cases", Type: "[]app.Test", Objects: 1, Bytes: 600}), []DifferenceKind{Unlisted, Gone}},
		{"no array", append(closures(1, 2), Measurement{Path: "app.cases", Type: "*[n]app.Case", Objects: 1, Bytes: 600}), []DifferenceKind{Unlisted, Gone}},
	} {
		for _, by := range []string{"$temporary", "$defer"} {
			var got []DifferenceKind
			for _, d := range f.Compare(slices.Concat(tt.ms, others, deferred(by))) {
				got = append(got, d.Kind)
			}
			assert.Equal(t, tt.want, got, tt.name+", "+by)
		}
	}
}

// A function literal may be one function for each call of the function that it is in, where that is
// inlined, or one for all, and arrays of several lengths may be of one type. A file in the words of
// one Go version holds for the other.
func TestTypesInFewerWords(t *testing.T) {
	const each = `
1 32 app.opts[*] func app.init.With.func1
1 32 app.opts[*] func app.init.With.func2
1 32 app.opts[*] func app.init.Named.func3
1 48 app.opts[*] func app.init.Named.func4
`
	const all = `
2 64 app.opts[*] func app.init.With.func1
2 80 app.opts[*] func app.init.Named.func3
`
	const lengths = `
1 600 app.cases[*] *[3]app.Case
2 800 app.cases[*] *[2]app.Case
`
	closure := func(name string, objects, bytes int64) Measurement {
		return Measurement{Path: "app.opts[*]", Type: "func app.init." + name, Objects: objects, Bytes: bytes}
	}
	asEach := []Measurement{closure("With.func1", 1, 32), closure("With.func2", 1, 32), closure("Named.func3", 1, 32), closure("Named.func4", 1, 48)}
	asAll := []Measurement{closure("With.func1", 2, 64), closure("Named.func3", 2, 80)}
	for _, tt := range []struct {
		name, file string
		ms         []Measurement
		want       []DifferenceKind
	}{
		{"one for each call, in a file with one for all", all, asEach, nil},
		{"one for all, in a file with one for each call", each, asAll, nil},
		{"arrays of one type, in a file with lengths", lengths, []Measurement{{Path: "app.cases[*]", Type: "[]app.Case", Objects: 3, Bytes: 1400}}, nil},
		{"one array more", lengths, []Measurement{{Path: "app.cases[*]", Type: "[]app.Case", Objects: 4, Bytes: 1600}}, []DifferenceKind{Over, Gone}},
		{"one more", each, append([]Measurement{closure("With.func1", 3, 96)}, asAll[1:]...), []DifferenceKind{Over, Over, Gone, Gone}},
		{"one more name", all, append(asEach, closure("x", 1, 16)), []DifferenceKind{Unlisted, Unlisted, Unlisted, Under, Under}},
		{"larger ones", each, append([]Measurement{closure("With.func1", 2, 80)}, asAll[1:]...), []DifferenceKind{Over, Over, Gone, Gone}},
		{"the names are the same, and the figures are not", all, []Measurement{closure("With.func1", 3, 96), closure("Named.func3", 1, 32)}, []DifferenceKind{Over, Under}},
	} {
		var got []DifferenceKind
		for _, d := range mustParse(t, v1+tt.file).Compare(tt.ms) {
			got = append(got, d.Kind)
		}
		assert.Equal(t, tt.want, got, tt.name)
	}
}
