// Package nativecalls records by which calls C code gets memory. A library that the leakgate command
// preloads into the test (cmd/leakgate/internal/native/shim) notes them down, in tables that this package reads;
// it is switched on and off from here.
package nativecalls

import (
	"encoding/binary"

	"github.com/leakgate/leakgate/internal/engine/peek"
)

// The struct control of the library (source/shim.c), in words.
const (
	ofMagic = 8 * iota
	ofVersion
	ofEnabled
	ofAllm
	ofNext
	ofProcid
	ofCurg
	ofExtra
	ofLo
	ofHi
	ofSP
	ofBP
	ofStatus
	ofTextLo
	ofTextHi
	ofBlocksLen
	ofStacksLen
	ofMapsLen
	ofDepth
	ofBlocks
	ofStacks
	ofMaps
	ofLive
	ofLost
	ofMapsUsed
	ofCalls
	controlSize
)

const (
	magic   = 0x6c65616b67617465
	version = 1
)

// Entries of the tables.
const (
	blockSize = 24 // address, size, stack and kind
	usedAddr  = 2  // larger addresses are of blocks

	stackReady, stackC, stackGo, stackPCs = 8, 12, 14, 16
)

// kinds are the functions that were called, by the library's numbers.
var kinds = [...]string{1: "malloc", "calloc", "realloc", "memalign", "mmap", "mremap"}

// A Recorder is the library in this process. Methods of it must not be called by several goroutines at a time.
type Recorder struct{ control uintptr }

func (r *Recorder) word(of uintptr) uint64 { return uint64(peek.Word(r.control + of)) }

func (r *Recorder) set(of uintptr, value uint64) {
	binary.NativeEndian.PutUint64(peek.Bytes(r.control+of, 8), value)
}

// A Stack is the calls that led to blocks or mappings.
type Stack struct {
	ID       int      // the same number at each moment of a recording
	Function string   // what C code called: "malloc", "mmap"
	C, Go    []uint64 // return addresses, innermost first
	Blocks   int64    // not freed
	Bytes    int64    // of these, as they were asked for
}

// An UnknownError is why nothing is recorded.
type UnknownError struct{ Cause, Remedy string }

// Error is the cause, with the remedy.
func (e *UnknownError) Error() string {
	if e.Remedy == "" {
		return e.Cause
	}
	return e.Cause + "; " + e.Remedy
}
