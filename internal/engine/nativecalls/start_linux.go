//go:build linux && (amd64 || arm64)

package nativecalls

import (
	"bytes"
	"strings"
	"syscall"

	"github.com/leakgate/leakgate/internal/engine/objfile/native"
	"github.com/leakgate/leakgate/internal/engine/peek"
	"github.com/leakgate/leakgate/internal/engine/rtlayout"
	"github.com/leakgate/leakgate/internal/procmaps"
)

// LibraryPrefix is how the names of the library's files begin.
const LibraryPrefix = "libleakgate-native-"

const variable = "leakgate_native"

// Find finds the library in this process: by its file among the mappings, and its variable among the symbols of
// that. Errors are *UnknownError.
func Find() (*Recorder, error) {
	text, err := procmaps.Read("/proc/self/maps")
	if err != nil {
		return nil, &UnknownError{Cause: err.Error()}
	}
	for line := range bytes.Lines(text) {
		m, ok := procmaps.Parse(bytes.TrimSuffix(line, []byte{'\n'}))
		if name := string(m.Name); ok && strings.Contains(name, "/"+LibraryPrefix) {
			return open(name, m.Start)
		}
	}
	return nil, &UnknownError{
		"the library that records them is not in this process",
		"this is so in a process that the test starts, in one that -exec runs elsewhere, and in programs with capabilities, which the dynamic loader gives no other libraries",
	}
}

// open finds the variable of the library, which is mapped from an address on.
func open(file string, start uint64) (*Recorder, error) {
	x, err := native.Open(file)
	if err != nil {
		return nil, &UnknownError{"the library that records them is mapped, and cannot be read: " + err.Error(), "leave it where it is while tests run"}
	}
	defer x.Close()
	if len(x.Segments) == 0 || x.Exports == nil {
		return nil, &UnknownError{Cause: file + " is not the library that records them"}
	}
	bias := start - (x.Segments[0].Addr - x.Segments[0].Offset)
	for _, s := range x.Exports() {
		if s.Name != variable || s.Size != controlSize {
			continue
		}
		r := &Recorder{uintptr(s.Addr + bias)}
		switch {
		case r.word(ofVersion) != version:
			return nil, &UnknownError{"the library that records them is of another version of leakgate", "use the command and the package leakcheck of one version"}
		case r.word(ofMagic) != magic:
			return nil, &UnknownError{"the library that records them got no memory for its tables (35 MiB of addresses)", "raise the limit of the address space (ulimit -v)"}
		}
		return r, nil
	}
	return nil, &UnknownError{"the library that records them is of another version of leakgate", "use the command and the package leakcheck of one version"}
}

// Start forgets what was recorded and begins to record, with the stacks of Go code if names are given, the debug
// information of this program, which lies bias bytes above where that has it. An error is about that: all the same
// the calls of C code are recorded.
func (r *Recorder) Start(names rtlayout.Names, bias uint64) (err error) {
	r.Stop()
	for of, value := range map[uintptr]uint64{ofLive: 0, ofLost: 0, ofMapsUsed: 0, ofCalls: 0, ofAllm: 0, ofTextLo: 0, ofTextHi: 0} {
		r.set(of, value)
	}
	stack := stackPCs + 8*r.word(ofDepth)
	for of, n := range map[uintptr]uint64{ofBlocks: blockSize * r.word(ofBlocksLen), ofStacks: stack * r.word(ofStacksLen), ofMaps: blockSize * r.word(ofMapsLen)} {
		if err := syscall.Madvise(peek.Bytes(uintptr(r.word(of)), uintptr(n)), syscall.MADV_DONTNEED); err != nil {
			return &UnknownError{Cause: "its tables cannot be emptied: " + err.Error()}
		}
	}
	if names != nil {
		err = r.findGo(rtlayout.In(names, bias))
	}
	r.set(ofEnabled, 1)
	return err
}

// findGo tells the library where the runtime has what leads to the stack of a goroutine.
func (r *Recorder) findGo(l *rtlayout.Lookup) error {
	const m, g, module = "runtime.m", "runtime.g", "runtime.moduledata"
	words := map[uintptr]uint64{
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
	words[ofTextLo], words[ofTextHi] = uint64(peek.Word(uintptr(first.Addr+text))), uint64(peek.Word(uintptr(first.Addr+etext)))
	for of, value := range words {
		r.set(of, value)
	}
	r.set(ofAllm, threads.Addr)
	return nil
}

// Stop records no more. What was recorded stays, and what is freed is taken out of it.
func (r *Recorder) Stop() { r.set(ofEnabled, 0) }
