package nativecalls

import (
	"bytes"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/objfile"
	"github.com/leakgate/leakgate/internal/engine/objfile/elffile"
	"github.com/leakgate/leakgate/internal/engine/rtlayout"
	"github.com/leakgate/leakgate/internal/procmaps"
)

// LibraryPrefix is how the names of the library's files begin.
const LibraryPrefix = "libleakgate-native-"

const variable = "leakgate_native"

// Find finds the library in a process: by its file among the mappings (/proc/PID/maps), and its variable among the
// symbols of that; or linked into the program, which is the first file. Errors are *UnknownError.
func Find(maps []byte, mem Memory) (*Recorder, error) {
	for line := range bytes.Lines(maps) {
		m, ok := procmaps.Parse(bytes.TrimSuffix(line, []byte{'\n'}))
		if name := string(m.Name); ok && strings.Contains(name, "/"+LibraryPrefix) {
			return open(name, m.Start, mem)
		}
	}
	for line := range bytes.Lines(maps) {
		if m, ok := procmaps.Parse(bytes.TrimSuffix(line, []byte{'\n'})); ok && bytes.HasPrefix(m.Name, []byte{'/'}) {
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

// open finds the variable of the library, which is mapped from an address on.
func open(file string, start uint64, mem Memory) (*Recorder, error) {
	x, err := objfile.Open(file, elffile.New)
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

// linked finds the variable in a program, nil if it is not there.
func linked(file string, start uint64, mem Memory) (*Recorder, error) {
	x, err := objfile.Open(file, elffile.New)
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

// in finds the variable among symbols, nil if it is not there.
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

// Bias is between addresses of a file that has segments and those in a process that has it mapped from start on.
func Bias(x *objfile.File, start uint64) uint64 {
	return start - (x.Segments[0].Addr - x.Segments[0].Offset)
}

// Start forgets what was recorded and begins to record, with the stacks of Go code if names are given, the debug
// information of the program, which lies bias bytes above where that has it. withoutGo is why there are no such stacks.
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

// clear writes zeros where there are none.
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

// findGo tells the library where the runtime has what leads to the stack of a goroutine.
func (r *Recorder) findGo(l *rtlayout.Lookup) error {
	const m, g, module = "runtime.m", "runtime.g", "runtime.moduledata"
	words := map[uint64]uint64{
		ofNext: l.Offset(m, "alllink"), ofProcid: l.Offset(m, "procid"), ofCurg: l.Offset(m, "curg"),
		ofLo: l.Offset(g, "stack.lo"), ofHi: l.Offset(g, "stack.hi"), ofSP: l.Offset(g, "sched.sp"), ofBP: l.Offset(g, "sched.bp"),
		ofStatus: l.Offset(g, "atomicstatus"),
	}
	words[ofExtra], _ = l.Maybe(m, "isExtraInC")
	threads, first := l.Variable("runtime.allm"), l.Variable("runtime.firstmoduledata")
	text, etext := l.Offset(module, "text"), l.Offset(module, "etext")
	if err := l.Err(); err != nil {
		return err
	}
	words[ofTextLo], words[ofTextHi] = r.at(first.Addr+text), r.at(first.Addr+etext)
	for of, value := range words {
		r.set(of, value)
	}
	r.set(ofAllm, threads.Addr)
	return nil
}

// Stop records no more. What was recorded stays, and what is freed is taken out of it.
func (r *Recorder) Stop() { r.set(ofEnabled, 0) }
