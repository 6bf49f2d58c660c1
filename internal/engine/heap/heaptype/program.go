package heaptype

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/memory/objset"
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// A program is what Tables know of a program, apart from what the memory of one process tells: its
// types. That of this process outlives a snapshot, since to make the types again is much of the
// cost of a small scan. It lies outside of the Go heap then, where neither the collector nor the
// program's own figures see it, and must have no pointers into the heap.
type program struct {
	names *debuginfo.Index
	bias  uint64
	// lasting says that the memory is from outside of the Go heap, and is never given back: reports
	// have labels of types.
	lasting bool
	free    []byte // of the last block of that memory

	list     atomic.Pointer[[]*Type] // by Type.Index; 0 is unused
	byRType  objset.AddressMap[Type] // of descriptors that are constants
	closures objset.AddressMap[Type] // by the function's address

	elemOfString atomic.Pointer[Type]

	mu sync.Mutex // guards what follows, and additions to the maps
	// only makers use these
	types      []*Type                 // list, with types that are not published yet
	origins    []origin                // by debuginfo.TypeID
	described  objset.AddressMap[Type] // by the address of the run-time descriptor, if that is a constant
	chanType   *Type
	enclosures map[EnclosingQuery]*Type
	passing    int // descriptors that are no constants, so that each snapshot makes their types again
}

// maxPassing is how many passing descriptors there may be until snapshots do without kept types.
const maxPassing = 10_000

// kept is the program of this process.
var kept struct {
	made    atomic.Bool
	program atomic.Pointer[program] // nil before it is made, and after it was forgotten
}

// programOf returns the program for a new Table. own says that it is this process's.
func programOf(names *debuginfo.Index, bias uint64, own bool) *program {
	p := kept.program.Load()
	if own && p != nil && p.names == names && p.bias == bias {
		return p
	}
	p = &program{names: names, bias: bias, lasting: own && kept.made.CompareAndSwap(false, true), enclosures: make(map[EnclosingQuery]*Type)}
	if p.lasting {
		p.byRType.Memory, p.closures.Memory, p.described.Memory = p.memory, p.memory, p.memory
	}
	p.types, p.origins = listIn[*Type](p, 1), listIn[origin](p, names.NumTypes()+1)
	all := p.types
	p.list.Store(&all)
	if p.lasting {
		kept.program.Store(p)
	}
	return p
}

// forget makes later tables do without the program.
func (p *program) forget() { kept.program.CompareAndSwap(p, nil) }

// memory returns zeroed memory outside of the Go heap; nil if the program does not last, and is to
// be on the heap.
func (p *program) memory(bytes uintptr) unsafe.Pointer {
	const block = 256 << 10
	if !p.lasting {
		return nil
	}
	bytes = (bytes + 7) &^ 7
	if bytes > uintptr(len(p.free)) {
		n := (bytes + block - 1) &^ (block - 1)
		words := offheap.Make(int(n / 4))
		offheap.Kept.Add(int64(n))
		p.free = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n)
	}
	at := unsafe.Pointer(unsafe.SliceData(p.free))
	p.free = p.free[bytes:]
	return at
}

// text returns a string with its text in the program's memory.
func (p *program) text(s string) string {
	if !p.lasting || s == "" {
		return s
	}
	b := unsafe.Slice((*byte)(p.memory(uintptr(len(s)))), len(s))
	copy(b, s)
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// listIn returns n zero values in the program's memory.
func listIn[T any](p *program, n int) []T {
	var zero T
	if at := p.memory(uintptr(n) * unsafe.Sizeof(zero)); at != nil {
		return unsafe.Slice((*T)(at), n)
	}
	return make([]T, n)
}

// newIn returns a zero value in the program's memory.
func newIn[T any](p *program) *T {
	if at := p.memory(unsafe.Sizeof(*new(T))); at != nil {
		return (*T)(at)
	}
	return new(T)
}

// captureList copies captured variables into the program's memory.
func (p *program) captureList(of []debuginfo.Capture) []debuginfo.Capture {
	if !p.lasting {
		return of
	}
	list := listIn[debuginfo.Capture](p, len(of))
	for i, c := range of {
		c.Name = p.text(c.Name)
		list[i] = c
	}
	return list
}
