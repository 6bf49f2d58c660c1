package nativeholders

import (
	"reflect"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/symindex"
	"github.com/leakgate/leakgate/internal/testkit/assert"
)

// Types of the index that indexOfTypes makes.
const (
	intType symindex.TypeID = iota + 1
	floatType
	pointerType
	stringType
	itemType  // struct { id int; handle unsafe.Pointer; weight float32 }
	itemsType // [4]item
	poolType  // struct { name string; items [4]item; _ struct{}; n int32 }
	emptyType // struct {}
	noneType  // [0]int
	loopType  // struct { loop }, which no compiler makes
)

func indexOfTypes() *symindex.Index {
	return symindex.New(&symindex.Program{Types: []symindex.Type{
		{ID: intType, Name: "int", Kind: reflect.Int, Size: 8},
		{ID: floatType, Name: "float32", Kind: reflect.Float32, Size: 4},
		{ID: pointerType, Name: "unsafe.Pointer", Kind: reflect.UnsafePointer, Size: 8},
		{ID: stringType, Name: "string", Kind: reflect.String, Size: 16},
		{ID: itemType, Name: "app.item", Kind: reflect.Struct, Size: 24, Fields: []symindex.Field{{Name: "id", Type: intType}, {Name: "handle", Offset: 8, Type: pointerType}, {Name: "weight", Offset: 16, Type: floatType}}},
		{ID: itemsType, Name: "[4]app.item", Kind: reflect.Array, Size: 96, Elem: itemType, Len: 4},
		{ID: poolType, Name: "app.pool", Kind: reflect.Struct, Size: 120, Fields: []symindex.Field{{Name: "name", Type: stringType}, {Name: "items", Offset: 16, Type: itemsType}, {Name: "_", Offset: 112, Type: emptyType}, {Name: "n", Offset: 112, Type: floatType}}},
		{ID: emptyType, Name: "struct {}", Kind: reflect.Struct},
		{ID: noneType, Name: "[0]int", Kind: reflect.Array, Elem: emptyType},
		{ID: loopType, Name: "app.loop", Kind: reflect.Struct, Size: 8, Fields: []symindex.Field{{Type: loopType}}},
	}})
}

// A word of a value has the name of the part that it lies in. What the part is decides whether the
// word may be an address: a number only that of a block's beginning, and text never.
func TestLabelAt(t *testing.T) {
	x := indexOfTypes()
	for _, tt := range []struct {
		typ   symindex.TypeID
		off   int64
		label string
		trust trust
	}{
		{intType, 0, "", asNumber},
		{floatType, 0, "", never},
		{pointerType, 0, "", always},
		{stringType, 8, "", always},
		{itemType, 0, "id", asNumber},
		{itemType, 8, "handle", always},
		{itemType, 16, "weight", never},
		{itemsType, 24 + 8, "[*].handle", always},
		{itemsType, 72 + 16, "[*].weight", never},
		{itemsType, 96, "", never},
		{poolType, 8, "name", always},
		{poolType, 16 + 48, "items[*].id", asNumber},
		{poolType, 16 + 48 + 8, "items[*].handle", always},
		{poolType, 112, "n", never},
		{emptyType, 0, "", never},
		{noneType, 0, "", never},
	} {
		label, trust := labelAt(x, tt.typ, tt.off)
		assert.Equal(t, tt.label, label, tt)
		assert.Equal(t, tt.trust, trust, tt)
	}
	_, trust := labelAt(x, loopType, 0)
	assert.Equal(t, always, trust, "of a type without an end nothing is known")
}

// Numbers are trusted if they are as large as an address.
func TestTrust(t *testing.T) {
	for kind, want := range map[reflect.Kind]trust{
		reflect.Int: asNumber, reflect.Int64: asNumber, reflect.Uint: asNumber, reflect.Uint64: asNumber, reflect.Uintptr: asNumber,
		reflect.Pointer: always, reflect.UnsafePointer: always, reflect.String: always, reflect.Slice: always, reflect.Interface: always,
		reflect.Chan: always, reflect.Map: always, reflect.Func: always,
		reflect.Int32: never, reflect.Uint8: never, reflect.Bool: never, reflect.Float64: never, reflect.Complex128: never,
	} {
		assert.Equal(t, want, trustIn(kind), kind)
	}
	for _, tt := range []struct {
		trust   trust
		atStart bool
		want    bool
	}{
		{always, true, true}, {always, false, true}, {asNumber, true, true}, {asNumber, false, false}, {never, true, false}, {never, false, false},
	} {
		assert.Equal(t, tt.want, tt.trust.allows(tt.atStart), tt)
	}
	assert.Equal(t, "app.v", join("app.v", ""))
	assert.Equal(t, "app.v[*]", join("app.v", "[*]"))
	assert.Equal(t, "app.v.x", join("app.v", "x"))
}
