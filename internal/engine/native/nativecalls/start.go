package nativecalls

import (
	"bytes"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
	"github.com/leakgate/leakgate/internal/procfs"
)

// LibraryPrefix begins the names of the library's files.
const LibraryPrefix = "libleakgate-native-"

const variable = "leakgate_native"

// Find finds the library in a process: by its file among the mappings (/proc/PID/maps), and by its
// variable among the symbols of that file. If the library is not among the mappings, Find looks for
// the variable in the program, which is the first mapped file. Errors are *UnknownError.
func Find(maps []byte, mem Memory) (*Recorder, error) {
	for m := range procfs.Areas(maps) {
		if name := string(m.Name); strings.Contains(name, "/"+LibraryPrefix) {
			return open(name, m.Start, mem)
		}
	}
	for m := range procfs.Areas(maps) {
		if bytes.HasPrefix(m.Name, []byte{'/'}) {
			if r, err := linked(string(m.Name), m.Start, mem); r != nil || err != nil {
				return r, err
			}
			break
		}
	}
	return nil, &UnknownError{
		"the library that records them is not in this process",
		"this is so in a process that the test starts, in one that -exec runs elsewhere, and in programs with capabilities, which the dynamic loader gives no other libraries",
	}
}

// open finds the variable of the library, which is mapped from start on.
func open(file string, start uint64, mem Memory) (*Recorder, error) {
	x, err := objfile.Open(file, objfile.ReadELF)
	if err != nil {
		return nil, &UnknownError{"the library that records them is mapped, and cannot be read: " + err.Error(), "leave it where it is while tests run"}
	}
	defer x.Close()
	if len(x.Segments) == 0 || x.Exports == nil {
		return nil, &UnknownError{Cause: file + " is not the library that records them"}
	}
	if r, err := in(x.Exports(), Bias(x, start), mem); r != nil || err != nil {
		return r, err
	}
	return nil, &UnknownError{"the library that records them is of another version of leakgate", "use the command and the package leakcheck of one version"}
}

// linked finds the variable in a program, nil if the program does not have it.
func linked(file string, start uint64, mem Memory) (*Recorder, error) {
	x, err := objfile.Open(file, objfile.ReadELF)
	if err != nil {
		return nil, nil
	}
	defer x.Close()
	symbols, err := x.Symbols()
	if err != nil || len(x.Segments) == 0 {
		return nil, nil
	}
	return in(symbols, Bias(x, start), mem)
}

// in finds the variable among symbols, nil if it is not among them.
func in(symbols []objfile.Symbol, bias uint64, mem Memory) (*Recorder, error) {
	for _, s := range symbols {
		if s.Name != variable || s.Size != controlSize {
			continue
		}
		r := &Recorder{mem: mem, control: s.Addr + bias}
		v, m := r.word(ofVersion), r.word(ofMagic)
		switch {
		case r.err != nil:
			return nil, r.err
		case v != version:
			return nil, &UnknownError{"the library that records them is of another version of leakgate", "use the command and the package leakcheck of one version"}
		case m != magic:
			return nil, &UnknownError{"the library that records them got no memory for its tables (35 MiB of addresses)", "raise the limit of the address space (ulimit -v)"}
		}
		return r, nil
	}
	return nil, nil
}

// Bias returns the difference between the addresses in a process that has the file mapped from
// start on and the addresses in the file, which must have segments.
func Bias(x *objfile.File, start uint64) uint64 {
	return start - (x.Segments[0].Addr - x.Segments[0].Offset)
}

// Start drops the records and begins to record. It records the stacks of Go code, too, if names is
// given: the debug information of the program, whose addresses in memory are bias higher. withoutGo
// says why there are no such stacks.
func (r *Recorder) Start(names rtlayout.Names, bias uint64) (withoutGo, err error) {
	r.Stop()
	used := r.word(ofCalls) > 0
	for _, of := range []uint64{ofLive, ofLost, ofMapsUsed, ofCalls, ofAllm, ofTextLo, ofTextHi} {
		r.set(of, 0)
	}
	if used {
		r.clear(r.word(ofBlocks), blockSize*r.word(ofBlocksLen))
		r.clear(r.word(ofMaps), blockSize*r.word(ofMapsLen))
		r.clear(r.word(ofStacks), (stackPCs+8*r.word(ofDepth))*r.word(ofStacksLen))
	}
	if names != nil {
		withoutGo = r.findGo(rtlayout.In(names, bias))
	}
	r.set(ofEnabled, 1)
	return withoutGo, r.err
}

// clear zeroes a table. It writes only to pages that are not zero yet.
func (r *Recorder) clear(table, size uint64) {
	const part = 4096
	zeros := make([]byte, part)
	all := r.bytes(table, size)
	for at := uint64(0); at < size; at += part {
		n := min(part, size-at)
		if !bytes.Equal(all[at:at+n], zeros[:n]) {
			r.write(table+at, zeros[:n])
		}
	}
}

// findGo gives the library the runtime's addresses and offsets that lead to the stack of a
// goroutine.
func (r *Recorder) findGo(l *rtlayout.Lookup) error {
	var m rtlayout.Thread
	var g rtlayout.Goroutine
	var module rtlayout.Module
	var at rtlayout.Variables
	if l.Fill(&m, &g, &module, &at); l.Err() != nil {
		return l.Err()
	}
	for of, value := range map[uint64]uint64{
		ofNext: m.Next, ofProcid: m.ID, ofCurg: m.Goroutine, ofExtra: m.Extra,
		ofLo: uint64(g.StackLo), ofHi: uint64(g.StackHi), ofSP: uint64(g.SP), ofBP: uint64(g.BP), ofStatus: uint64(g.Status),
		ofTextLo: r.at(uint64(at.Modules + module.Text)), ofTextHi: r.at(uint64(at.Modules + module.TextEnd)),
	} {
		r.set(of, value)
	}
	r.set(ofAllm, uint64(at.AllMs))
	return nil
}

// Stop ends the recording. The records stay, except those of blocks that are freed later.
func (r *Recorder) Stop() { r.set(ofEnabled, 0) }
