// Package nativecalls reports the calls by which C code gets memory. A library that the leakgate
// command preloads into a test (cmd/leakgate/internal/native/callrecord) records them in tables.
// This package reads the tables out of the process's memory, and switches the recording on and off.
package nativecalls

import (
	"encoding/binary"
	"io"
)

// Byte offsets of the fields of the library's struct control (source/shim.c), one word each.
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

// Layout of the entries of the tables.
const (
	blockSize = 24 // address, size, stack and kind
	usedAddr  = 2  // larger addresses stand for blocks

	stackReady, stackC, stackGo, stackPCs = 8, 12, 14, 16
)

// kinds are the functions that C code called, by the library's numbers.
var kinds = [...]string{1: "malloc", "calloc", "realloc", "memalign", "mmap", "mremap"}

// Memory is the memory of the process (/proc/PID/mem).
type Memory interface {
	io.ReaderAt
	io.WriterAt
}

// A Recorder is the library in a process. It is not safe for concurrent use.
type Recorder struct {
	mem     Memory
	control uint64
	err     error // of reading or writing, the first one
}

// Err returns the first error of reading or writing memory, nil if there was none.
func (r *Recorder) Err() error { return r.err }

func (r *Recorder) bytes(at, n uint64) []byte {
	b := make([]byte, n)
	if _, err := r.mem.ReadAt(b, int64(at)); err != nil && r.err == nil {
		r.err = &UnknownError{Cause: "the memory of the test cannot be read: " + err.Error()}
	}
	return b
}

func (r *Recorder) write(at uint64, b []byte) {
	if _, err := r.mem.WriteAt(b, int64(at)); err != nil && r.err == nil {
		r.err = &UnknownError{"the memory of the test cannot be written to, to begin with: " + err.Error(), "allow writing to /proc/self/mem (proc_mem.force_override of the kernel)"}
	}
}

func (r *Recorder) at(addr uint64) uint64 { return binary.NativeEndian.Uint64(r.bytes(addr, 8)) }

func (r *Recorder) word(of uint64) uint64 { return r.at(r.control + of) }

func (r *Recorder) set(of, value uint64) {
	r.write(r.control+of, binary.NativeEndian.AppendUint64(nil, value))
}

// A Stack is a call stack that led to blocks or mappings.
type Stack struct {
	ID       int      // the same number at each moment of a recording
	Function string   // the function that C code called: "malloc", "mmap"
	C, Go    []uint64 // return addresses, innermost first
	Blocks   int64    // not freed
	Bytes    int64    // of these, as C code asked for them
}

// An UnknownError says why nothing is recorded.
type UnknownError struct{ Cause, Remedy string }

// Error is the cause, with the remedy.
func (e *UnknownError) Error() string {
	if e.Remedy == "" {
		return e.Cause
	}
	return e.Cause + "; " + e.Remedy
}
