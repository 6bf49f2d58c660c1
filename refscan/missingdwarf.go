package refscan

import (
	"reflect"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/attribute"
	"github.com/leakgate/leakgate/internal/engine/snapshot"
)

// AllowMissingDWARF lets Capture continue without debug information: on a machine without the Go
// toolchain or the sources, for example. In such a report all package variables are one root,
// "(unnamed global)", and slots of frames are "$tmp". Objects up to 512 bytes have a type only if a
// larger object, an interface, a channel that a goroutine waits for, or another object with a type
// leads to them. The audit is as exact as ever. Report.NoDebugInfo is set in such reports.
func AllowMissingDWARF() CaptureOption {
	return captureOption(func(c *snapshot.Config) { c.WithoutDWARF = snapshot.WithoutDWARF })
}

// CouldBe returns how many objects may be of type t besides those that the report lists as t:
// objects of unknown type that have t's size and pointers. It is for reports without names; for
// others it returns 0. ok is false if the report was read from JSON, or if a type like t cannot be
// recognised by its shape: maps, channels, functions, slices, strings, interfaces, and values below
// 16 bytes without pointers.
func (r *Report) CouldBe(t reflect.Type) (objects, bytes int64, ok bool) {
	if r.NoDebugInfo == nil {
		return 0, 0, true
	}
	if r.uncertain == nil {
		return 0, 0, false
	}
	d := descriptor(t)
	if d.size == 0 || d.size > 1<<40 || (d.ptrBytes == 0 && d.size < 16) {
		return 0, 0, false
	}
	switch t.Kind() {
	case reflect.Map, reflect.Chan, reflect.Func, reflect.Slice, reflect.String, reflect.Interface:
		return 0, 0, false
	}
	want := attribute.Shape{Size: sizeClass(d.size)}
	switch {
	case d.ptrBytes == 0:
	case d.size > attribute.LargestMask:
		return 0, 0, true // it carries its type
	default:
		for i := range d.ptrBytes / 8 {
			b := *(*byte)(unsafe.Add(d.gcData, i/8))
			want.Mask |= uint64(b>>(i%8)&1) << i
		}
	}
	for u := t; u != nil; u = firstPart(u) {
		// The only known reference to the object may be one to its first part.
		if u != t {
			want.Type = uint64(uintptr(unsafe.Pointer(descriptor(u))))
		}
		objects += r.uncertain[want]
	}
	return objects, objects * int64(want.Size), true
}

// firstPart returns the type of the first part of a value of type t, which has the value's address;
// nil if there is none.
func firstPart(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i).Type; f.Size() > 0 {
				return f
			}
		}
	case reflect.Array:
		if t.Size() > 0 {
			return t.Elem()
		}
	}
	return nil
}

// typeDescriptor is the beginning of internal/abi.Type (go1.26 and 1.27).
type typeDescriptor struct {
	size, ptrBytes uint64
	_              [16]byte
	gcData         unsafe.Pointer // the pointer mask of types that are not large
}

func descriptor(t reflect.Type) *typeDescriptor {
	return (*[2]*typeDescriptor)(unsafe.Pointer(&t))[1]
}

// sizeClass returns the size, in bytes, of the object that an allocation of n bytes without a
// header gets.
func sizeClass(n uint64) uint64 {
	return uint64(cap(append([]byte(nil), make([]byte, n)...)))
}
