package symindex

import (
	"encoding/binary"
	"unsafe"
)

// stringTable stores each distinct string once. A large program has millions of type names; this
// table takes half the time of a map and a third of its memory.
type stringTable struct {
	bytes []byte       // length (uvarint) and text of each string; the empty string is at 0
	slots []stringSlot // a hash table with linear probing, a power of two and at most half full
	count int
}

type stringSlot struct{ hash, place uint32 } // place 0: free

// newStringTable makes a table with room for count strings that have text bytes in total. It grows
// when there are more.
func newStringTable(count, text int) stringTable {
	const perString, least = 2, 1 << 10 // bytes of a string's length; fewest slots and spare bytes
	size := least
	for size < 2*count {
		size *= 2
	}
	b := make([]byte, 1, text+perString*count+least)
	return stringTable{bytes: b, slots: make([]stringSlot, size)}
}

// rehash moves the strings to a hash table with size slots.
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

// place returns the offset of s, which has that hash, and adds s if it is new. If s does not fit
// into the 2 GB of a table, it returns the offset of the empty string.
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

// view returns b as a string without copying it. The bytes must not change, and must not be
// unmapped while the string is in use.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// hash is the hash function of tables in memory and in index files: CRC-32C, for which most
// processors have an instruction.
func hash(s string) uint32 { return checksum(unsafe.Slice(unsafe.StringData(s), len(s))) }
