package judge

import (
	"fmt"
	"sort"

	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// Memory is the memory of a frozen process. Bytes returns nil for what cannot be read.
type Memory interface {
	Bytes(addr, n uint64) []byte
}

// A Heap finds objects and the pointers in them.
type Heap struct {
	mem            Memory
	model          *goruntime.Model
	greenTea       bool // spans of small objects end with mark bits of the collector
	maskInProgress uint64
}

// NewHeap returns the heap of a process. greenTea says whether the process has the green tea
// collector; maskInProgress is the address of runtime.inProgress, which stands for a pointer mask
// that is being made.
func NewHeap(mem Memory, model *goruntime.Model, greenTea bool, maskInProgress uint64) *Heap {
	return &Heap{mem: mem, model: model, greenTea: greenTea, maskInProgress: maskInProgress}
}

// An Object is a slot of a span that is in use.
type Object struct {
	Addr, Size uint64
	Number     uint32 // in the model
	Tiny       bool
	span       *goruntime.Span
}

// At returns the object that holds an address.
func (h *Heap) At(addr uint64) (Object, bool) {
	spans := h.model.Spans
	i := sort.Search(len(spans), func(i int) bool { return spans[i].Base > addr }) - 1
	if i < 0 || addr >= spans[i].Limit {
		return Object{}, false
	}
	s := &spans[i]
	k := (addr - s.Base) / s.ElemSize
	if k >= uint64(s.NElems) || !s.Allocated(uint32(k)) {
		return Object{}, false
	}
	return Object{Addr: s.Base + k*s.ElemSize, Size: s.ElemSize, Number: s.FirstObj + uint32(k), Tiny: s.Tiny, span: s}, true
}

// word reads eight bytes.
func (h *Heap) word(addr uint64) (uint64, error) {
	b := h.mem.Bytes(addr, 8)
	if len(b) != 8 {
		return 0, fmt.Errorf("no memory at %#x", addr)
	}
	v := uint64(0)
	for i := range b {
		v |= uint64(b[i]) << (8 * i)
	}
	return v, nil
}

// bit reads a bit of memory.
func (h *Heap) bit(addr, i uint64) (bool, error) {
	b := h.mem.Bytes(addr+i/8, 1)
	if len(b) != 1 {
		return false, fmt.Errorf("no memory at %#x", addr)
	}
	return b[0]&(1<<(i%8)) != 0, nil
}

// Pointers returns the contents of the words of an object that may be pointers (go1.26
// runtime/mbitmap.go). Objects of up to 512 bytes have a bit for each word at the end of their
// span. Larger objects have the address of their type in their first word; objects with a span of
// their own have it in the span.
func (h *Heap) Pointers(o Object) ([]uint64, error) {
	switch {
	case o.span.NoScan:
		return nil, nil
	case o.Size <= 512:
		return h.smallPointers(o)
	}
	typ, start := uint64(0), o.Addr
	if o.span.NElems == 1 && o.Size > 32<<10 {
		t, _ := h.model.AllocatedType(o.span, o.Number)
		if t == nil {
			return nil, nil
		}
		typ = t.Addr
	} else {
		var err error
		if typ, err = h.word(o.Addr); err != nil || typ == 0 {
			return nil, err
		}
		start += 8
	}
	return h.typedPointers(typ, start, o.Addr+o.Size)
}

func (h *Heap) smallPointers(o Object) ([]uint64, error) {
	end := o.span.Base + o.span.Size
	if h.greenTea && o.Size >= 16 {
		end -= 128
	}
	bits := end - o.span.Size/64
	var out []uint64
	for a := o.Addr; a+8 <= o.Addr+o.Size; a += 8 {
		set, err := h.bit(bits, (a-o.span.Base)/8)
		if err != nil {
			return nil, err
		}
		if set {
			v, err := h.word(a)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
	}
	return out, nil
}

// typedPointers returns the pointers in consecutive values of a type, from one address to another.
func (h *Heap) typedPointers(typ, from, to uint64) ([]uint64, error) {
	t, err := h.readType(typ)
	if err != nil {
		return nil, err
	}
	offsets, err := h.offsets(t, 0)
	if err != nil || len(offsets) == 0 {
		return nil, err
	}
	var out []uint64
	for ; from < to; from += t.size {
		for _, off := range offsets {
			if from+off+8 > to {
				break
			}
			v, err := h.word(from + off)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
	}
	return out, nil
}
