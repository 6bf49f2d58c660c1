package alloccode

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
)

func TestTypeArguments(t *testing.T) {
	for name, want := range map[string][]string{
		"main.f":                        nil,
		"main.New[go.shape.int,string]": {"go.shape.int", "string"},
		"main.(*Map[go.shape.struct { F int; G []string },map[int]string]).Set": {"go.shape.struct { F int; G []string }", "map[int]string"},
		"main..dict.Map[int,func(int, string)]":                                 {"int", "func(int, string)"},
		"main.broken[int":                                                       nil,
	} {
		assert.Equal(t, want, typeArguments(name), name)
	}
}

func TestSubstitute(t *testing.T) {
	for _, c := range []struct {
		name              string
		shapes, arguments []string
		want              string
	}{
		{"Entry[go.shape.int]", []string{"go.shape.int"}, []string{"main.ID"}, "Entry[main.ID]"},
		{"Entry[go.shape.int,go.shape.int64]", []string{"go.shape.int", "go.shape.int64"}, []string{"a.I", "b.J"}, "Entry[a.I,b.J]"},
		// one shape for two arguments
		{"Entry[go.shape.int]", []string{"go.shape.int", "go.shape.int"}, []string{"a.I", "b.J"}, "Entry[go.shape.int]"},
		{"map[go.shape.string]bool", []string{"go.shape.string"}, []string{"string"}, "map[string]bool"},
	} {
		assert.Equal(t, c.want, substitute(c.name, c.shapes, c.arguments))
	}
}

// If paths do not agree on a type, it is not known.
func TestPathsAgree(t *testing.T) {
	branch := func(second uint64) *function {
		return newFunction("f", 0, []instruction{
			{at: 0, next: 4, op: opConst, to: 0, constant: 100},
			{at: 4, next: 8, op: opBranch, target: 12},
			{at: 8, next: 12, op: opConst, to: 0, constant: second},
			{at: 12, next: 16, op: opCall, target: 1000},
		}, 2)
	}
	at := func(f *function, i int, p place) value {
		return (&follower{&Program{source: noSource{}}, f, make(map[visit]bool)}).before(i, p, nil, 0)
	}
	assert.Equal(t, unknownValue, at(branch(200), 3, 0).kind)
	same := at(branch(100), 3, 0)
	assert.Equal(t, constantValue, same.kind)
	assert.Equal(t, uint64(100), same.constant)
	// a register that nothing sets came as an argument
	argument := at(branch(100), 3, 1)
	assert.Equal(t, argumentValue, argument.kind)
	assert.Equal(t, place(1), argument.argument)
}

// A value is followed through the stack unless something else is written there. It is not followed
// through calls in registers.
func TestSpills(t *testing.T) {
	code := func(between instruction) *function {
		between.at, between.next = 8, 12
		return newFunction("f", 0, []instruction{
			{at: 0, next: 4, op: opConst, to: 0, constant: 7},
			{at: 4, next: 8, op: opMove, to: slot(16), from: 0},
			between,
			{at: 12, next: 16, op: opMove, to: 3, from: slot(16)},
			{at: 16, next: 20, op: opCall},
		}, 2)
	}
	for name, c := range map[string]struct {
		between instruction
		kind    valueKind
	}{
		"a call":          {instruction{op: opCall}, constantValue},
		"another slot":    {instruction{slotsFrom: 24, slotsTo: 32}, constantValue},
		"the slot":        {instruction{slotsFrom: 20, slotsTo: 24}, unknownValue},
		"what it is from": {instruction{written: []place{0}}, constantValue},
	} {
		f := code(c.between)
		assert.Equal(t, c.kind, (&follower{&Program{source: noSource{}}, f, make(map[visit]bool)}).before(4, 3, nil, 0).kind, name)
	}
}

// noSource is a program without functions.
type noSource struct{}

func (noSource) FunctionAt(uint64) (name string, entry uint64, code []byte) { return "", 0, nil }

func (noSource) NameAt(uint64) string { return "" }

func (noSource) Word(uint64) (uint64, bool) { return 0, false }
