package dwarfread

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
)

func TestMethodOf(t *testing.T) {
	const args = "[go.shape.*uint8,go.shape.[]a.b/c.d.F]"
	for _, c := range []struct {
		pkg, name string
		want      [2]string // receiver, dictionary
	}{
		{"main", "main.(*LRU[go.shape.int]).Get", [2]string{"*main.LRU[go.shape.int]", "main.LRU[go.shape.int]"}},
		{"main", "main.LRU[go.shape.int].Get", [2]string{"main.LRU[go.shape.int]", "main.LRU[go.shape.int]"}},
		{"a.b/c.d", "a.b/c.d.(*E" + args + ").Get", [2]string{"*a.b/c.d.E" + args, "a.b/c.d.E" + args}},
		{"main", "main.(*T).Get" + args, [2]string{"*main.T", "main.(*T).Get" + args}},
		{"main", "main.(*LRU[go.shape.int]).Map" + args, [2]string{"*main.LRU[go.shape.int]", "main.(*LRU[go.shape.int]).Map" + args}},
		{"main", "main.function[go.shape.int]", [2]string{}},
		{"main", "main.function", [2]string{}},
		{"", "", [2]string{}},
		{"main", "]", [2]string{}},
	} {
		receiver, dict := methodOf(c.pkg, c.name)
		assert.Equal(t, c.want, [2]string{receiver, dict}, c.name)
	}
}
