// Package nativeholders finds the holders of blocks of C's malloc in a frozen process: Go objects
// and variables, by any of their words, C variables, threads, and other memory. The holder of a
// block also holds the blocks that this block leads to. It reads words conservatively: a word that
// looks like the address of a byte in a block is a reference to the block. So a block that it calls
// lost is lost, while a word that only looks like an address can hide a loss.
package nativeholders

import (
	"fmt"
	"sort"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/symbol"
)

// A Kind is a sort of holder. A block that several kinds lead to belongs to the first of them.
type Kind uint8

// Kinds of holders, in the order in which they claim blocks: memory that a program names on purpose
// before words that may be left over on a stack.
const (
	Go       Kind = iota // an object, or a package variable
	Variable             // a C variable
	Frame                // a Go function that is under way
	Thread               // a thread: its stack in C code, or its thread-local variables
	Mapping              // other memory that the process has mapped
)

// A Holder refers to blocks, or to other blocks that lead to them.
type Holder struct {
	Kind Kind
	Name string // the path of a word in Go, or a C variable; "" if it has no name
	File string // of a C variable: the library or program
	Sum
}

// A Sum is a number of blocks, and the bytes of their chunks.
type Sum struct{ Blocks, Bytes int64 }

func (s *Sum) add(b nativeheap.Block) {
	s.Blocks++
	s.Bytes += b.Size
}

// A Place is where words that lead to blocks lie: in one part of the objects of a node, in one part
// of a package variable, or elsewhere, as Kind says. Several places may have one name, like nodes
// that differ only in their types.
type Place struct {
	Kind Kind
	Node *attribute.Node // of the Go objects with the words; nil: the words are not in objects
	// name, as the linker writes it, of the variable with the words, or of the function; "": none
	Variable string
	// the part of the objects or of the variable: "c", "[*].c"; "": they are words themselves
	Label string
	File  string // of a C variable
}

// Blocks sums up all the blocks that a place leads to.
type Blocks struct {
	Place
	Name string // as of a Holder
	Sum
}

// A Result says who holds the blocks that Find was asked for, and who holds all blocks.
type Result struct {
	Holders []Holder // that lead to blocks asked for; those that lead to the most come first
	All     Sum
	Lost    Sum    // blocks asked for that nothing leads to
	Unread  string // memory that was not read and may lead to blocks in Lost; "": none
	InC     bool   // a thread runs C code: blocks that only its registers lead to are in Lost

	Everything []Blocks // by place, of all blocks, in the order in which places were found
	AllLost    Sum      // of all blocks
	Hidden     int64    // blocks that are a mapping each and could not be told from other memory
}

// A finder is one search.
type finder struct {
	heap    *typedheap.Heap
	program root.Program
	mem     *image.Space
	pid     int // of the frozen process
	native  *nativeheap.Contents
	owner   []int32           // by block: 1 + the index of its place; 0: no owner yet
	queue   []uint32          // blocks with an owner whose words are not scanned yet
	memory  []stretch         // outside of the heaps
	plain   map[uint64][]byte // memory of Go spans without pointers, by address; nil: not read
	places  []Blocks
	known   map[Place]int32    // 1 + index in places
	globals []debuginfo.Global // of the program, by address
	files   map[string]*library
	unread  uint64 // bytes
	inC     bool
	cut     *cut // what is cut; nil: nothing
}

// frozen is a forked copy of this process.
type frozen interface {
	snapshot.Frozen
	PID() int
}

// maxRead bounds the bytes that one call of read copies, of memory that is not in the snapshot
// anyway.
const maxRead = 512 << 20

// Find finds the holders of the blocks for which is returns true. It takes about as long as a scan
// with attribution, and reads all memory that the program may write to, up to 512 MiB of each sort.
// Errors are *snapshot.Unavailable, those of package nativeheap, and of reading.
func Find(s *snapshot.Snapshot, is func(nativeheap.Block) bool) (_ *Result, err error) {
	defer snapshot.Guard(&err)()
	f, err := open(s)
	if err == nil {
		err = f.follow(Mapping)
	}
	if err != nil {
		return nil, err
	}
	return f.result(is), f.mem.Broken()
}

// open reads the heaps of a snapshot.
func open(s *snapshot.Snapshot) (f *finder, err error) {
	p, ok := s.Process().(frozen)
	if !ok {
		return nil, &snapshot.Unavailable{Cause: "the process is not forked, so that memory of C is not in the snapshot"}
	}
	f = &finder{program: s.Program(), mem: image.NewSpace(p), pid: p.PID(), known: make(map[Place]int32), files: make(map[string]*library)}
	if f.native, err = nativeheap.OfFrozen(p.PID(), f.mem); err != nil {
		return nil, err
	}
	if f.heap, err = s.Heap(); err != nil {
		return nil, err
	}
	f.globals = s.Index().Globals()
	f.owner = make([]int32, len(f.native.Blocks))
	f.memory, err = f.writableStretches()
	return f, err
}

// follow follows the references of all kinds of holders up to last.
func (f *finder) follow(last Kind) (err error) {
	rest := f.memory
	for kind := Go; kind <= last; kind++ {
		switch kind {
		case Go:
			if err = f.data(rest, kind); err == nil {
				err = f.objects()
			}
		case Variable:
			err = f.data(rest, kind)
		case Frame:
			f.frames()
		default:
			err = f.other(rest, kind)
		}
		if err == nil {
			err = f.spread()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *finder) result(is func(nativeheap.Block) bool) *Result {
	r := &Result{InC: f.inC, Everything: f.places, Hidden: f.native.Hidden}
	asked := make([]Sum, len(f.places))
	for i, b := range f.native.Blocks {
		sum, sumAsked := &r.AllLost, &r.Lost
		if owner := f.owner[i]; owner > 0 {
			sum, sumAsked = &f.places[owner-1].Sum, &asked[owner-1]
		}
		sum.add(b)
		if is(b) {
			r.All.add(b)
			sumAsked.add(b)
		}
	}
	paths := make(attribute.Paths)
	for i, sum := range asked {
		b := &f.places[i]
		b.Name = b.name(paths)
		if sum.Blocks == 0 {
			continue
		}
		h := r.holder(b)
		h.Blocks += sum.Blocks
		h.Bytes += sum.Bytes
	}
	sort.SliceStable(r.Holders, func(i, j int) bool {
		a, b := &r.Holders[i], &r.Holders[j]
		if a.Blocks != b.Blocks || a.Kind != b.Kind {
			return a.Blocks > b.Blocks || a.Blocks == b.Blocks && a.Kind < b.Kind
		}
		return a.Name < b.Name
	})
	if f.unread > 0 {
		r.Unread = fmt.Sprintf("%d bytes of memory were not read", f.unread)
	}
	return r
}

// name is the path of a place in a folded report, or the name of the variable or function.
func (p *Place) name(paths attribute.Paths) string {
	name := p.Variable
	if p.Node != nil {
		name = paths.Of(p.Node)
	}
	if p.Kind == Go || p.Kind == Frame {
		name = symbol.Unescape(join(name, p.Label))
	}
	return name
}

// holder returns the holder for a place. Places with one name share a holder.
func (r *Result) holder(b *Blocks) *Holder {
	for i := range r.Holders {
		if h := &r.Holders[i]; h.Name == b.Name && h.Kind == b.Kind && h.File == b.File {
			return h
		}
	}
	r.Holders = append(r.Holders, Holder{Kind: b.Kind, Name: b.Name, File: b.File})
	return &r.Holders[len(r.Holders)-1]
}

// place returns the number of a place, from 1 on; 0 if it is cut.
func (f *finder) place(p Place) int32 {
	if f.cut.takes(&p) {
		return 0
	}
	n := f.known[p]
	if n == 0 {
		f.places = append(f.places, Blocks{Place: p})
		n = int32(len(f.places))
		f.known[p] = n
	}
	return n
}
