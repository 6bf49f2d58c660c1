package alloc

import (
	"reflect"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

func selectorOf(t *testing.T, typ reflect.Type) *request.Selector {
	t.Helper()
	match, err := naming.MatchType(typ)
	require.NoError(t, err)
	return &request.Selector{Types: match}
}

// Objects of unknown size may be of a type or arrays of it. A bound is broken only if it is broken
// in either case, and holds only if it holds in either case.
func TestBoundsInDoubt(t *testing.T) {
	one, much := int64(1), int64(1<<20)
	objects, array := selectorOf(t, reflect.TypeFor[entry]()), selectorOf(t, reflect.TypeFor[[]entry]())
	for name, c := range map[string]struct {
		bound             Bound
		entries, unsized  int64 // objects of entry in 100 calls, and those of unknown size
		arrays            int64
		broken, undecided bool
	}{
		"all is known":                     {Bound{Selector: objects, MaxAllocs: &one}, 200, 0, 0, true, false},
		"few are not":                      {Bound{Selector: objects, MaxAllocs: &one}, 200, 5, 0, true, false},
		"too many whatever they are":       {Bound{Selector: objects, MaxAllocs: &one}, 200, 50, 0, true, false},
		"too many if they are no arrays":   {Bound{Selector: objects, MaxAllocs: &one}, 200, 100, 0, false, true},
		"few enough even so":               {Bound{Selector: objects, MaxAllocs: &one}, 100, 100, 0, false, false},
		"bytes of objects":                 {Bound{Selector: objects, MaxBytes: &one}, 100, 100, 0, false, true},
		"arrays: too many if they are":     {Bound{Selector: array, MaxAllocs: &one}, 200, 100, 100, false, true},
		"arrays: few enough even so":       {Bound{Selector: array, MaxAllocs: &one}, 200, 50, 50, false, false},
		"arrays: too many":                 {Bound{Selector: array, MaxAllocs: &one}, 200, 50, 150, true, false},
		"all objects":                      {Bound{MaxAllocs: &one}, 100, 100, 0, false, false},
		"all objects: too many":            {Bound{MaxAllocs: &one}, 200, 100, 0, true, false},
		"all bytes: too many at least":     {Bound{MaxBytes: &one}, 200, 100, 0, true, false},
		"all bytes: enough that are known": {Bound{MaxBytes: &much}, 200, 100, 0, false, true},
	} {
		element := naming.TypeName(reflect.TypeFor[entry]())
		r := &recording{calls: 100, rows: []*row{
			{name: element, typed: true, objects: c.entries, unsized: c.unsized, bytes: 48 * c.entries},
			{name: "[]" + element, typed: true, objects: c.arrays, bytes: 480 * c.arrays},
		}}
		f := c.bound.judge(r)
		assert.Equal(t, c.broken, f.broken, name)
		assert.Equal(t, c.undecided, f.unsure, name)
	}
}
