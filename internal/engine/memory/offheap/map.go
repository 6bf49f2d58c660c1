package offheap

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/memory/headroom"
)

// Make checks that there is memory for a list of large bytes, or for several lists that are as
// large together: a check takes some hundred microseconds.
var (
	large           int64        = 8 << 20 // a variable for tests
	bytesSinceCheck atomic.Int64           // bytes of lists since the last check
)

// Map takes memory of the system, and Unmap gives it back. They are variables so that tests of
// packages that use lists can count and refuse them; nothing else may set them.
var (
	Map   = Take
	Unmap = Release
)

// Make returns a list of n numbers, all 0, to be given back with Free. The system provides memory
// only as it is written to, so that lists made shortly before may still need theirs. It panics with
// a *headroom.Shortage if a limit leaves too little for the list, and with a *remedy.Error if the
// system refuses it: if lists were on the heap, a refusal would end the process.
func Make(n int) []uint32 {
	if n == 0 {
		return nil
	}
	size := int64(n) * 4
	if bytesSinceCheck.Add(size) >= large {
		bytesSinceCheck.Store(0)
		if err := (headroom.System{}).Check(headroom.Need{Resident: size + large/4, Private: size, Address: size}); err != nil {
			panic(err)
		}
	}
	mem, err := Map(n * 4)
	if err != nil {
		panic(Refused(fmt.Sprintf("%d bytes of a table", n*4), err))
	}
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(mem))), n)
}

// Ask panics as Make does if a limit leaves less than a number of bytes. It is for what is taken on
// the heap.
func Ask(bytes int64) {
	if bytes < large {
		return
	}
	if err := (headroom.System{}).Check(headroom.Need{Resident: bytes + large, Private: bytes, Address: bytes}); err != nil {
		panic(err)
	}
}

// Fits reports whether the limits leave a number of bytes: for what is taken only if there is room.
func Fits(bytes int64) bool {
	return bytes < large || (headroom.System{}).Check(headroom.Need{Resident: bytes, Private: bytes, Address: bytes}) == nil
}

// Free gives back a list that Make returned, in its whole length.
func Free(list []uint32) {
	if len(list) == 0 {
		return
	}
	mem := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*4)
	_ = Unmap(mem)
}
