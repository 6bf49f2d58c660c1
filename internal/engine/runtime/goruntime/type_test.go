package goruntime_test

//lint:file-ignore U1000 the collector and reflection look at fields

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/heaptest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

type named struct {
	n     int
	next  *named
	text  string
	bytes []byte
	any   any
	err   error
	call  func()
	table map[string]int
	line  chan int
	raw   unsafe.Pointer
	word  uintptr
	small [3]struct {
		b byte
		p *int
	}
	last [5]int
}

// manyPointers is so large that the runtime makes its pointer mask when it is first needed.
type manyPointers struct {
	head *int
	rows [3000]struct {
		a, b int
		p    *int
	}
	tail [7]uintptr
}

// pointersOf computes the words of a type that hold pointers, by reflection. Of an interface, the
// collector follows the value alone.
func pointersOf(t reflect.Type, at uintptr, found map[uint64]bool) {
	word := uint64(at / 8)
	switch t.Kind() {
	case reflect.Pointer, reflect.UnsafePointer, reflect.Map, reflect.Chan, reflect.Func, reflect.String, reflect.Slice:
		found[word] = true
	case reflect.Interface:
		found[word+1] = true
	case reflect.Array:
		for i := range t.Len() {
			pointersOf(t.Elem(), at+uintptr(i)*t.Elem().Size(), found)
		}
	case reflect.Struct:
		for i := range t.NumField() {
			pointersOf(t.Field(i).Type, at+t.Field(i).Offset, found)
		}
	}
}

// descriptor returns the address of a type's descriptor, which is what a reflect.Type points to.
func descriptor(t reflect.Type) uint64 { return uint64(reflect.ValueOf(t).Pointer()) }

// Package reflect judges types: their sizes, kinds and names, and which words hold pointers.
func TestTypesOfThisProgram(t *testing.T) {
	types := []reflect.Type{
		reflect.TypeFor[int](), reflect.TypeFor[*int](), reflect.TypeFor[string](), reflect.TypeFor[[]string](), reflect.TypeFor[named](),
		reflect.TypeFor[*named](), reflect.TypeFor[[9]named](), reflect.TypeFor[map[string]*named](), reflect.TypeFor[chan named](),
		reflect.TypeFor[func(named) error](), reflect.TypeFor[error](), reflect.TypeFor[any](), reflect.TypeFor[manyPointers](),
		reflect.TypeFor[struct{}](), reflect.TypeFor[[2]manyPointers](), reflect.TypeFor[reflect.Value](), reflect.TypeFor[unsafe.Pointer](),
	}
	m := heaptest.Freeze(t, false).Model()
	for _, want := range types {
		got := m.Type(descriptor(want))
		require.NotNil(t, got, want.String())
		assert.True(t, m.IsDescriptor(got.Addr), want.String())
		assert.True(t, m.IsConstant(got.Addr), want.String())
		assert.Equal(t, want.Kind(), got.Kind, want.String())
		assert.EqualValues(t, want.Size(), got.Size, want.String())
		assert.Equal(t, want.String(), m.TypeString(got))
		direct := want.Kind() == reflect.Pointer || want.Kind() == reflect.Map || want.Kind() == reflect.Chan ||
			want.Kind() == reflect.Func || want.Kind() == reflect.UnsafePointer
		assert.Equal(t, direct, got.Direct, want.String())
		switch want.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan:
			assert.Equal(t, descriptor(want.Elem()), got.Elem, want.String())
		default:
			assert.Zero(t, got.Elem, want.String())
		}
		words := make(map[uint64]bool)
		pointersOf(want, 0, words)
		mask, err := m.Mask(got)
		require.NoError(t, err, want.String())
		last := uint64(0)
		for i := range got.Size / 8 {
			require.Equal(t, words[i], goruntime.MaskBit(mask, i), "word %d of %s", i, want)
			if words[i] {
				last = 8 * (i + 1)
			}
		}
		assert.Equal(t, last, got.PtrBytes, want.String())
	}
	fields, err := m.StructFields(m.Type(descriptor(reflect.TypeFor[named]())))
	require.NoError(t, err)
	for i, want := range reflect.VisibleFields(reflect.TypeFor[named]()) {
		assert.Equal(t, want.Name, m.FieldName(fields[i]))
		assert.EqualValues(t, want.Offset, fields[i].Offset)
		assert.Equal(t, descriptor(want.Type), fields[i].Type)
	}
	assert.Len(t, fields, reflect.TypeFor[named]().NumField())
}

// At other addresses there is no type.
func TestNoType(t *testing.T) {
	m := heaptest.Freeze(t, false).Model()
	at := descriptor(reflect.TypeFor[named]())
	assert.Nil(t, m.Type(0))
	assert.Nil(t, m.Type(at+4), "it is not aligned")
	assert.Nil(t, m.Type(nowhere), "nothing is there")
	assert.False(t, m.IsDescriptor(at+4))
	assert.False(t, m.IsDescriptor(nowhere))
	assert.False(t, m.IsConstant(uint64(reflect.ValueOf(&sample).Pointer())), "a variable")
}
