package liveread

import "github.com/leakgate/leakgate/internal/engine/memory/offheap"

// hashOf reads the hash of a type's descriptor (go1.26 and go1.27 internal/abi/type.go, Type).
func hashOf(descriptor uintptr) uint32 { return offheap.Half(descriptor + 16) }

// EachImplementation calls visit with the hash of each type that the program converts to the
// interface type of the hash of: it has a method table for the pair. list is the address of the
// runtime's variable for the list of these tables, which has its size, the number of tables, and
// their addresses (go1.26 and go1.27 runtime/iface.go, itabTableType). Tables are never freed.
func EachImplementation(list uintptr, of uint32, visit func(hash uint32)) {
	list = offheap.Word(list)
	for i := range offheap.Word(list) {
		if table := offheap.Word(list + 16 + 8*i); table != 0 && hashOf(offheap.Word(table)) == of {
			visit(hashOf(offheap.Word(table + 8)))
		}
	}
}

// EachMethodTable calls visit with the first and the last word of the methods in each such table.
func EachMethodTable(list uintptr, visit func(from, to uintptr)) {
	list = offheap.Word(list)
	for i := range offheap.Word(list) {
		table := offheap.Word(list + 16 + 8*i)
		if table == 0 {
			continue
		}
		// The number of methods is the length of a slice behind the interface type's descriptor and
		// its package (go1.26 and go1.27 internal/abi/type.go, Type and InterfaceType).
		if n := offheap.Word(offheap.Word(table) + 64); n > 0 {
			visit(table+24, table+24+8*(n-1))
		}
	}
}
