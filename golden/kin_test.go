package golden

import (
	"testing"

	"github.com/leakgate/leakgate/internal/assert"
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
`)
	closures := func(first, second int64) []Measurement {
		return []Measurement{
			{Path: "app.opts[*]", Type: "func app/lib.With.func1", Objects: first, Bytes: 16 * first},
			{Path: "app.opts[*]", Type: "func app/lib.Named.func1", Objects: second, Bytes: 16 * second},
		}
	}
	others := []Measurement{{Path: "app.last", Type: "*app.Case", Objects: 1, Bytes: 16}, {Path: "app.any.x", Type: "int", Objects: 1, Bytes: 16}}
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
		var got []DifferenceKind
		for _, d := range f.Compare(append(tt.ms, others...)) {
			got = append(got, d.Kind)
		}
		assert.Equal(t, tt.want, got, tt.name)
	}
}
