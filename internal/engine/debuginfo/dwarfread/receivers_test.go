package dwarfread

import (
	"testing"

	"github.com/leakgate/leakgate/internal/assert"
)

func TestMethodOf(t *testing.T) {
	const args = "[go.shape.*uint8,go.shape.[]a.b/c.d.F]"
	for _, c := range []struct {
		pkg, name string
		want      method
	}{
		{"main", "main.(*LRU[go.shape.int]).Get", method{"*main.LRU[go.shape.int]", "main.LRU[go.shape.int]"}},
		{"main", "main.LRU[go.shape.int].Get", method{"main.LRU[go.shape.int]", "main.LRU[go.shape.int]"}},
		{"a.b/c.d", "a.b/c.d.(*E" + args + ").Get", method{"*a.b/c.d.E" + args, "a.b/c.d.E" + args}},
		{"main", "main.(*T).Get" + args, method{"*main.T", "main.(*T).Get" + args}},
		{"main", "main.(*LRU[go.shape.int]).Map" + args, method{"*main.LRU[go.shape.int]", "main.(*LRU[go.shape.int]).Map" + args}},
		{"main", "main.function[go.shape.int]", method{}},
		{"main", "main.function", method{}},
		{"", "", method{}},
		{"main", "]", method{}},
	} {
		assert.Equal(t, c.want, methodOf(c.pkg, c.name), c.name)
	}
}
