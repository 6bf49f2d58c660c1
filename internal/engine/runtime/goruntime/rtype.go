package goruntime

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"sync/atomic"
)

// RType is a run-time type descriptor (internal/abi/type.go, Type; the same layout in go1.26 and
// go1.27).
type RType struct {
	Addr     uint64
	Size     uint64
	PtrBytes uint64 // length of the prefix that can hold pointers
	Hash     uint32
	Kind     reflect.Kind
	Direct   bool // an interface holds the value itself, not a pointer to it
	Elem     uint64
	tflag    uint8
	gcdata   uint64
	str      int32
	mask     atomic.Pointer[pointerMask] // nil until it is needed
}

// pointerMask is the mask of a type, or the error of reading it.
type pointerMask struct {
	bits []byte
	err  error
}

const (
	tflagExtraStar      = 1 << 1
	tflagMaskOnDemand   = 1 << 4
	tflagDirectIface    = 1 << 5
	rtypeSize           = 48
	maxPlausibleObjSize = 1 << 46
)

// maxNoTypes bounds the number of cached addresses that hold no type.
const maxNoTypes = 1 << 16

// Type reads the type descriptor at an address, nil if there is none.
func (m *Model) Type(addr uint64) *RType {
	if t, ok := m.rtypes.Get(addr); ok || addr == 0 {
		return t
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.typeAt(addr)
}

// typeAt is Type for callers that hold the lock.
func (m *Model) typeAt(addr uint64) *RType {
	if t, ok := m.rtypes.Get(addr); ok || addr == 0 {
		return t
	}
	t := m.readType(addr)
	if t != nil || m.rtypes.Len() < maxNoTypes {
		m.rtypes.Add(addr, t)
	}
	return t
}

func (m *Model) readType(addr uint64) *RType {
	if addr == 0 || addr%8 != 0 || !m.Mem.Try(addr, rtypeSize+8) {
		return nil
	}
	b := m.Mem.Bytes(addr, rtypeSize+8)
	t := &RType{
		Addr: addr, Size: u64(b, 0), PtrBytes: u64(b, 8), Hash: u32(b, 16), tflag: b[20],
		Kind: reflect.Kind(b[23] & 0x1f), gcdata: u64(b, 32), str: int32(u32(b, 40)),
	}
	t.Direct = t.tflag&tflagDirectIface != 0
	switch t.Kind {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan:
		t.Elem = u64(b, 48)
	}
	if t.Size > maxPlausibleObjSize || t.PtrBytes > t.Size || t.Kind == reflect.Invalid || t.Kind > reflect.UnsafePointer {
		return nil
	}
	return t
}

// Mask returns the type's pointer mask: one bit for each word of its first PtrBytes bytes.
func (m *Model) Mask(t *RType) ([]byte, error) {
	if t.PtrBytes == 0 {
		return nil, nil
	}
	if known := t.mask.Load(); known != nil {
		return known.bits, known.err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.maskOf(t)
}

// maskOf is Mask for callers that hold the lock.
func (m *Model) maskOf(t *RType) ([]byte, error) {
	known := t.mask.Load()
	if known == nil {
		known = &pointerMask{}
		known.bits, known.err = m.readMask(t)
		t.mask.Store(known)
	}
	return known.bits, known.err
}

func (m *Model) readMask(t *RType) ([]byte, error) {
	n := (t.PtrBytes/8 + 7) / 8
	at := t.gcdata
	if t.tflag&tflagMaskOnDemand != 0 {
		// runtime/type.go, getGCMaskOnDemand: GCData points to a pointer, which is nil until the
		// mask is first needed and &inProgress while it is made.
		at = m.Mem.U64(t.gcdata)
		if g, ok := m.names.GlobalByName("runtime.inProgress"); at == 0 || (ok && at == g.Addr+m.bias) || m.isVariable(at) {
			mask := make([]byte, n)
			steps := maskSteps + int(t.PtrBytes)
			if err := m.buildMask(t, mask, 0, 0, &steps); err != nil {
				return nil, err
			}
			return mask, nil
		}
	}
	mask := m.Mem.Bytes(at, n)
	if mask == nil {
		return nil, fmt.Errorf("the pointer mask of type %s is not readable in the frozen process", m.TypeString(t))
	}
	return mask, nil
}

// maskSteps is the number of steps that making a mask may always take, besides a step for each
// byte.
const maskSteps = 1000

// maxMaskDepth bounds the nesting of types within a type.
const maxMaskDepth = 100

// isVariable reports whether an address lies among the program's variables without pointers, as
// that of runtime.inProgress does; no mask lies there.
func (m *Model) isVariable(addr uint64) bool {
	for _, mod := range m.Modules {
		if mod.NoPtrBSS <= addr && addr < mod.ENoPtr {
			return true
		}
	}
	return false
}

// buildMask sets the bits of a type at an offset, as runtime/type.go:buildGCMask does. The caller
// holds the lock.
func (m *Model) buildMask(t *RType, mask []byte, off uint64, depth int, steps *int) error {
	if *steps--; *steps < 0 || depth > maxMaskDepth {
		return fmt.Errorf("the type %s does not end", m.TypeString(t))
	}
	if t.tflag&tflagMaskOnDemand == 0 {
		return m.copyMask(t, mask, off)
	}
	switch t.Kind {
	case reflect.Array:
		elem := m.typeAt(t.Elem)
		if elem == nil || elem.Size == 0 {
			return fmt.Errorf("the element type of %s cannot be read", m.TypeString(t))
		}
		for o := uint64(0); o < t.PtrBytes; o += elem.Size {
			if err := m.buildMask(elem, mask, off+o, depth+1, steps); err != nil {
				return err
			}
		}
	case reflect.Struct:
		fields, err := m.StructFields(t)
		if err != nil {
			return err
		}
		for _, f := range fields {
			ft := m.typeAt(f.Type)
			if ft == nil {
				return fmt.Errorf("a field type of %s cannot be read", m.TypeString(t))
			}
			if ft.PtrBytes == 0 {
				continue
			}
			if err := m.buildMask(ft, mask, off+f.Offset, depth+1, steps); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("the type %s has a mask on demand", m.TypeString(t))
	}
	return nil
}

// A StructField is a field of a struct type: the addresses of its name and type, and its offset.
type StructField struct{ name, Type, Offset uint64 }

// maxFields bounds the fields of a struct.
const maxFields = 1 << 16

// StructFields returns the fields of a struct type (go1.26 and go1.27 internal/abi/type.go,
// StructType).
func (m *Model) StructFields(t *RType) ([]StructField, error) {
	at, n := m.Mem.U64(t.Addr+rtypeSize+8), m.Mem.U64(t.Addr+rtypeSize+16)
	if n > maxFields {
		return nil, fmt.Errorf("the type %s claims %d fields", m.TypeString(t), n)
	}
	if !m.Mem.Try(at, 24*n) {
		return nil, fmt.Errorf("the fields of %s cannot be read", m.TypeString(t))
	}
	fields := make([]StructField, n)
	for i := range fields {
		f := at + 24*uint64(i)
		fields[i] = StructField{m.Mem.U64(f), m.Mem.U64(f + 8), m.Mem.U64(f + 16)}
	}
	return fields, nil
}

// FieldName returns the name of a field, "?" if it cannot be read.
func (m *Model) FieldName(f StructField) string { return m.name(f.name) }

// copyMask sets the bits of a type that has a mask of its own.
func (m *Model) copyMask(t *RType, mask []byte, off uint64) error {
	own, err := m.maskOf(t)
	if err != nil {
		return err
	}
	for i := uint64(0); i < t.PtrBytes/8; i++ {
		if w := off/8 + i; MaskBit(own, i) && w>>3 < uint64(len(mask)) {
			mask[w>>3] |= 1 << (w & 7)
		}
	}
	return nil
}

// TypeString returns the type's name as reflect gives it ("app.Session"), "?" if it cannot be read.
func (m *Model) TypeString(t *RType) string {
	mod := m.moduleOfType(t.Addr)
	if mod == nil {
		return "?"
	}
	s := m.name(mod.types + uint64(uint32(t.str)))
	if t.tflag&tflagExtraStar != 0 && len(s) > 0 {
		s = s[1:]
	}
	return s
}

// name reads an abi.Name: a flag byte, a varint length, the text.
func (m *Model) name(addr uint64) string {
	if !m.Mem.Try(addr, 12) {
		return "?"
	}
	n, w := binary.Uvarint(m.Mem.Bytes(addr+1, 10))
	if w <= 0 || n > 1<<16 || !m.Mem.Try(addr, 1+uint64(w)+n) {
		return "?"
	}
	return string(m.Mem.Bytes(addr+1+uint64(w), n))
}
