package attribute

import "unsafe"

// Figures count what is at a node alone, without what is below it. All fields are of type int64,
// which Add and Sub rely on.
type Figures struct {
	// A map counts as one object with the bytes of all its tables. Entries whose key and value both
	// lie inside the tables count as objects of 0 bytes at the "$mapval" child.
	Objects int64 `json:"objects"`
	Bytes   int64 `json:"bytes"`
	// of Objects, those without a known type, counted at their nearest typed holder
	UntypedObjects int64 `json:"untyped_objects,omitempty"`
	UntypedBytes   int64 `json:"untyped_bytes,omitempty"`
	Elems          int64 `json:"elems,omitempty"` // for maps: entries, over all Objects
	// for slices whose arrays refer to objects from outside the slices' length: the elements within
	// the length, summed over these arrays
	Len int64 `json:"len,omitempty"`
	// the elements of these arrays from their start to the slices' capacity
	Cap int64 `json:"cap,omitempty"`
	// of Objects, those that are referenced by elements before the start or beyond the length of
	// their slices; 0 where that is not certain
	Beyond int64 `json:"beyond,omitempty"`
	// of Bytes, those that no slice and no string reaches, in blocks of 256 bytes or more without
	// pointers of which slices and strings reach a quarter or less; 0 where there are more than
	// 131,072 such blocks
	UnreachedBytes int64 `json:"unreached_bytes,omitempty"`
	// of Bytes, those behind the length of the slice or string that leads to a block first (up to
	// the slice's capacity and, in blocks of 1 KiB or more, up to the end of the block), and those
	// of channels' buffers that hold no element (of another process only if elements have pointers)
	RoomBytes int64 `json:"room_bytes,omitempty"`
	// of Objects, those whose use is over: closed channels, files and connections, done contexts,
	// stopped timers
	Ended int64 `json:"ended,omitempty"`
}

// all are the figures as an array.
func (f *Figures) all() *[unsafe.Sizeof(Figures{}) / 8]int64 {
	return (*[unsafe.Sizeof(Figures{}) / 8]int64)(unsafe.Pointer(f))
}

// Add adds the figures of another node.
func (f *Figures) Add(o *Figures) {
	for i, n := range o.all() {
		f.all()[i] += n
	}
}

// Sub subtracts the figures of another node, each down to 0. It takes what it has subtracted out of
// o, too, so that figures that several nodes share are subtracted once.
func (f *Figures) Sub(o *Figures) {
	for i := range f.all() {
		now, before := &f.all()[i], &o.all()[i]
		n := min(*now, *before)
		*now -= n
		*before -= n
	}
}
