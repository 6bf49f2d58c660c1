package symindex

import (
	"encoding/binary"
	"unsafe"
)

// stringTable collects strings, each once. A large program has millions of names of types; this
// takes half the time of a map and a third of its memory.
type stringTable struct {
	bytes []byte       // of each string its length (uvarint) and its text; at 0 is the empty one
	slots []stringSlot // a hash table with linear probing, a power of two and at most half full
	count int
}

type stringSlot struct{ hash, place uint32 } // place 0: free

// newStringTable makes a table with room for so many strings with so many bytes of text. It grows
// when there are more.
func newStringTable(count, text int) stringTable {
	const perString, least = 2, 1 << 10 // bytes of its length
	size := least
	for size < 2*count {
		size *= 2
	}
	b := make([]byte, 1, text+perString*count+least)
	return stringTable{bytes: b, slots: make([]stringSlot, size)}
}

// rehash gives the table so many slots.
func (t *stringTable) rehash(size int) {
	old := t.slots
	t.slots = make([]stringSlot, size)
	for _, s := range old {
		if s.place == 0 {
			continue
		}
		i := int(s.hash) & (size - 1)
		for t.slots[i].place != 0 {
			i = (i + 1) & (size - 1)
		}
		t.slots[i] = s
	}
}

// place returns where a string is, which has that hash; it is added if it is not there. A string
// that has no room in the 2 GB of a table becomes the empty one.
func (t *stringTable) place(s string, hash uint32) uint32 {
	if s == "" {
		return 0
	}
	mask := len(t.slots) - 1
	i := int(hash) & mask
	for ; t.slots[i].place != 0; i = (i + 1) & mask {
		if t.slots[i].hash != hash {
			continue
		}
		known := t.bytes[t.slots[i].place:]
		if n, used := binary.Uvarint(known); view(known[used:][:n]) == s {
			return t.slots[i].place
		}
	}
	if uint64(len(t.bytes))+uint64(len(s)) > 1<<31 {
		return 0
	}
	place := uint32(len(t.bytes))
	t.bytes = append(packNumbers(t.bytes, uint64(len(s))), s...)
	t.slots[i] = stringSlot{hash, place}
	if t.count++; 2*t.count > len(t.slots) {
		t.rehash(2 * len(t.slots))
	}
	return place
}

// view makes a string of bytes without copying them. They must not change, and not be unmapped
// before the string is done with.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// hash is for tables in memory and in index files. Most processors have an instruction for it.
func hash(s string) uint32 { return checksum(unsafe.Slice(unsafe.StringData(s), len(s))) }
