package goruntime

// A FrameMap tells which words of a function's frame the collector follows while a call of the
// function is under way: those with pointers that it uses again after the call.
type FrameMap struct {
	locals ptrMap
	below  int64 // distance of the last word's end from the canonical frame address
}

// FrameMap returns the map for a call that returns to pc.
func (m *Model) FrameMap(f *Func, pc uint64) (FrameMap, error) {
	info, err := m.loadMaps(f, pc)
	if err != nil {
		return FrameMap{}, err
	}
	fm := FrameMap{locals: info.locals, below: 8} // the saved frame pointer
	if !m.arch.usesLR {
		fm.below = 16 // and the return address
	}
	return fm, nil
}

// Live reports whether the word at an offset from the canonical frame address is followed. It is
// true for words that do not belong to the frame's own variables.
func (fm *FrameMap) Live(offset int64) bool {
	at := offset + fm.below
	if at >= 0 {
		return true
	}
	i := at/8 + int64(fm.locals.n)
	return i >= 0 && MaskBit(fm.locals.bits, uint64(i))
}
