package judge

import "fmt"

// descriptor is a type descriptor of the process (go1.26 internal/abi/type.go, Type).
type descriptor struct {
	addr, size, pointers uint64 // pointers is the length of the prefix that holds pointers
	flags, kind          byte
	mask                 uint64
}

const (
	flagMaskOnDemand = 1 << 4
	flagDirect       = 1 << 5 // interfaces hold the value itself
	kindArray        = 17
	kindStruct       = 25
)

func (h *Heap) readType(addr uint64) (descriptor, error) {
	b := h.mem.Bytes(addr, 24)
	if len(b) != 24 {
		return descriptor{}, fmt.Errorf("no type at %#x", addr)
	}
	d := descriptor{addr: addr, flags: b[20], kind: b[23] & 0x1f}
	var err error
	for _, f := range []struct {
		to *uint64
		at uint64
	}{{&d.size, 0}, {&d.pointers, 8}, {&d.mask, 32}} {
		if *f.to, err = h.word(addr + f.at); err != nil {
			return d, err
		}
	}
	if d.size == 0 && d.pointers != 0 || d.pointers > d.size {
		return d, fmt.Errorf("the type at %#x has %d bytes of pointers in %d", addr, d.pointers, d.size)
	}
	return d, nil
}

// offsets returns the offsets of the pointers in a type, each increased by base.
func (h *Heap) offsets(d descriptor, base uint64) ([]uint64, error) {
	mask := d.mask
	if d.flags&flagMaskOnDemand != 0 {
		made, err := h.word(d.mask)
		if err != nil {
			return nil, err
		}
		if made == 0 || made == h.maskInProgress {
			return h.parts(d, base)
		}
		mask = made
	}
	var out []uint64
	for off := uint64(0); off < d.pointers; off += 8 {
		set, err := h.bit(mask, off/8)
		if err != nil {
			return nil, err
		}
		if set {
			out = append(out, base+off)
		}
	}
	return out, nil
}

// parts collects the offsets of the pointers in a type from its elements or fields.
func (h *Heap) parts(d descriptor, base uint64) ([]uint64, error) {
	var out []uint64
	part := func(addr, off uint64) error {
		p, err := h.readType(addr)
		if err != nil || p.pointers == 0 {
			return err
		}
		offs, err := h.offsets(p, base+off)
		out = append(out, offs...)
		return err
	}
	switch d.kind {
	case kindArray:
		elem, err := h.word(d.addr + 48)
		if err != nil {
			return nil, err
		}
		n, err := h.word(d.addr + 64)
		if err != nil {
			return nil, err
		}
		for i := range n {
			if err := part(elem, i*(d.size/n)); err != nil {
				return nil, err
			}
		}
	case kindStruct:
		fields, err := h.word(d.addr + 56)
		if err != nil {
			return nil, err
		}
		n, err := h.word(d.addr + 64)
		if err != nil {
			return nil, err
		}
		for i := range n {
			typ, err := h.word(fields + 24*i + 8)
			if err != nil {
				return nil, err
			}
			off, err := h.word(fields + 24*i + 16)
			if err != nil {
				return nil, err
			}
			if err := part(typ, off); err != nil {
				return nil, err
			}
		}
	default:
		return nil, fmt.Errorf("the type at %#x of kind %d has a mask on demand", d.addr, d.kind)
	}
	return out, nil
}
