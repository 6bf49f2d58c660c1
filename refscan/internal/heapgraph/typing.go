package heapgraph

import "sync/atomic"

// form says how an object's memory is to be read.
type form uint8

const (
	formNone     form = iota
	formOne           // one value of the type, seen through a pointer
	formBoxed         // one value of the type, inside an interface
	formArray         // values of the type, one behind the other
	formString        // the bytes of a string
	formMap           // the header of a map (internal/runtime/maps.Map)
	formTrie          // the root node of an internal/sync.HashTrieMap
	formChan          // a channel (runtime.hchan)
	formClosure       // a code pointer and captured variables
	formInternal      // a table, directory or buffer that belongs to a map or channel
)

// rank is how well founded a typing is; higher ranks win.
type rank uint8

const (
	rankInterior  rank = iota + 1 // a pointer into the object types a part of it
	rankStatic                    // the type of a reference to it
	rankDynamic                   // an interface's type word, a map, channel or closure
	rankAllocated                 // the allocator's own record
	rankOwned                     // part of a map or channel
)

// typing is what is known of one object.
type typing struct {
	typ  int32  // index in the type table, 0 if unknown
	off  uint32 // where in the object the typed part begins
	form form
	rank rank
	full bool // the type accounts for every pointer of the object
}

// The widths of a packed typing: 64 bits.
const (
	typingTypeBits = 24
	typingOffBits  = 32
	typingFormBits = 4
	typingRankBits = 3
)

// pack makes one word of a typing.
func (ty typing) pack() uint64 {
	w := uint64(ty.typ)<<typingOffBits | uint64(ty.off)
	w = w<<typingFormBits | uint64(ty.form)
	w = w<<typingRankBits | uint64(ty.rank)
	w <<= 1
	if ty.full {
		w |= 1
	}
	return w
}

func unpack(w uint64) typing {
	ty := typing{full: w&1 != 0}
	w >>= 1
	ty.rank = rank(w & (1<<typingRankBits - 1))
	w >>= typingRankBits
	ty.form = form(w & (1<<typingFormBits - 1))
	w >>= typingFormBits
	ty.off = uint32(w)
	ty.typ = int32(w >> typingOffBits)
	return ty
}

// typings are the typings of all objects, packed, by object number.
type typings []uint64

//go:noinline
func (t typings) of(obj uint32) typing { return unpack(t[obj]) }

// touch writes to each page. One that is read first would be given a page of zeros that all of them share, and another one when it is
// written to: two faults where one does, most of them in compare-and-swap. That took 8 % of a scan of 5 million objects.
func (t typings) touch() {
	const page = 4096 / 8 // or less than a page
	for i := 0; i < len(t); i += page {
		t[i] = 0
	}
}

// now is of while others may replace it.
//
//go:noinline
func (t typings) now(obj uint32) typing { return unpack(atomic.LoadUint64(&t[obj])) }

// replace reports whether the typing was still the old one.
func (t typings) replace(obj uint32, old, ty typing) bool {
	return atomic.CompareAndSwapUint64(&t[obj], old.pack(), ty.pack())
}

// improves reports whether a typing should replace another one. Nothing is better than to belong to a map or channel.
func (tt *typeTable) improves(ty, old typing, objSize uint64) bool {
	switch {
	case old.form == formInternal:
		return false
	case ty.form == formInternal:
		return true
	case ty.typ == 0 || ty == old:
		return false
	}
	return tt.better(ty, old, objSize)
}

// better reports whether a should replace b, which types the same object. It is a strict order that
// does not depend on which was found first.
func (tt *typeTable) better(a, b typing, objSize uint64) bool {
	if b.typ == 0 {
		return true
	}
	if (a.rank == rankOwned) != (b.rank == rankOwned) {
		return a.rank == rankOwned
	}
	ta, tb := tt.at(a.typ), tt.at(b.typ)
	if ta.shaped != tb.shaped {
		return tb.shaped
	}
	if a.full != b.full {
		return a.full
	}
	if a.rank != b.rank {
		return a.rank > b.rank
	}
	if ca, cb := ta.coverage(a, objSize), tb.coverage(b, objSize); ca != cb {
		return ca > cb
	}
	if a.off != b.off {
		return a.off < b.off
	}
	if ta != tb {
		if na, nb := len(ta.ops), len(tb.ops); na != nb {
			return na > nb
		}
		if ta.Size != tb.Size { // an array of large elements says more than one of their parts
			return ta.Size > tb.Size
		}
		if ta.Name != tb.Name {
			return ta.Name < tb.Name
		}
		if a.form == b.form {
			return ta.before(tb)
		}
	}
	return a.form > b.form
}

// coverage is how many bytes of the object the typing, which is of type t, explains.
func (t *Type) coverage(a typing, objSize uint64) uint64 {
	if a.form == formArray && t.Size > 0 {
		return (objSize - uint64(a.off)) / t.Size * t.Size
	}
	return t.Size
}

// refName is the type of a reference to an object with this typing.
//
//go:noinline
func (tt *typeTable) refName(a typing) string {
	t := tt.at(a.typ)
	switch a.form {
	case formOne, formNone:
		return "*" + t.Name
	case formArray:
		return "[]" + t.Name
	case formString:
		return "string"
	case formTrie:
		if t.Name == trieMapPrefix+"interface {},interface {}]" {
			return "sync.Map"
		}
		return t.Name
	default:
		return t.Name
	}
}
