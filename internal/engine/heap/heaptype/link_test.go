package heaptype

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestLinkOf(t *testing.T) {
	pointer := &Type{Refs: 1, Ops: []Op{{Kind: opPointer}}}
	row := &Type{Refs: 2, Ops: []Op{{Kind: opPointer, label: "data"}, {Kind: opSlice, label: "list", Ref: 1}}}
	holder := &Type{Refs: 9, Ops: []Op{
		{Kind: OpIface, label: "any"},
		{Kind: opFunc, label: "fn", Ref: 1},
		{Kind: opMap, label: "m", Ref: 2},
		{Kind: OpArray, label: "array", Ref: 3, Len: 2, Type: pointer},
		{Kind: OpArray, label: "rows", Ref: 5, Len: 2, Type: row},
	}}
	for _, tt := range []struct {
		name   string
		typ    *Type
		layout Layout
		ref    uint32
		want   Link
	}{
		{"a part of a map or channel", row, LayoutValue, RefInternal, Link{}},
		{"unknown", row, LayoutValue, RefUnknown, Link{Crosses: true}},
		{"an unknown type's", nil, LayoutValue, 0, Link{Crosses: true}},
		{"a variable's pointer", pointer, LayoutValue, 0, Link{}},
		{"a pointer in a field", row, LayoutValue, 0, Link{Crosses: true}},
		{"a slice in a field", row, LayoutValue, 1, Link{}},
		{"an interface in a field", holder, LayoutValue, 0, Link{Crosses: true}},
		{"a func in a field", holder, LayoutValue, 1, Link{Crosses: true}},
		{"a map in a field", holder, LayoutValue, 2, Link{}},
		{"an element of an array in a field", holder, LayoutValue, 4, Link{Element: true}},
		{"a pointer in a struct in an array", holder, LayoutValue, 7, Link{Crosses: true, Element: true}},
		{"a slice in a struct in an array", holder, LayoutValue, 8, Link{Element: true}},
		{"an element of a slice", pointer, LayoutArray, 3, Link{Element: true}},
		{"a pointer in an element of a slice", row, LayoutArray, 4, Link{Crosses: true, Element: true}},
		{"a slice in an element of a slice", row, LayoutArray, 5, Link{Element: true}},
	} {
		require.Equal(t, tt.want, LinkOf(tt.typ, tt.layout, tt.ref), tt.name)
	}
}

func TestLinkOfRoot(t *testing.T) {
	for _, tt := range []struct {
		label  string
		target Layout
		want   Link
	}{
		{"", LayoutValue, Link{}},
		{"~", LayoutValue, Link{}},
		{"", LayoutMap, Link{}},
		{"service", LayoutValue, Link{Crosses: true}},
		{"in.service", LayoutValue, Link{Crosses: true}},
		{"fn", LayoutClosure, Link{Crosses: true}},
		{"items", LayoutArray, Link{}},
		{"queue", LayoutChan, Link{}},
		{"name", LayoutString, Link{}},
		{"[2]", LayoutValue, Link{Element: true}},
		{"in.array[2]", LayoutValue, Link{Element: true}},
		{"[2].service", LayoutValue, Link{Crosses: true, Element: true}},
		{"[2].items", LayoutArray, Link{Element: true}},
	} {
		require.Equal(t, tt.want, LinkOfRoot(tt.label, tt.target), "%q", tt.label)
	}
}
