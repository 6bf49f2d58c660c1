package goruntime

import (
	"errors"
	"fmt"
	"sort"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

// maxGoroutines bounds the list of goroutines.
const maxGoroutines = 1 << 28

// A Goroutine is a goroutine that has not ended, with its stack (runtime/runtime2.go, g).
type Goroutine struct {
	Addr      uint64 // of the g
	Lo, Hi    uint64 // of its stack
	PC, SP    uint64 // of its innermost frame
	lr        uint64
	ctxt      uint64 // closure register of a goroutine that is not running
	ctxtAddr  uint64
	top       uint64 // stack pointer of the outermost frame
	defers    uint64
	panics    uint64
	GoPC      uint64   // of the go statement that made it
	StartPC   uint64   // its entry function
	async     bool     // stopped asynchronously, at any instruction
	syscall   bool     // PC and SP were saved on entry to a system call
	lost      bool     // running without a usable record: its whole stack is scanned conservatively
	registers []uint64 // conservative roots, of a goroutine whose thread something else stopped
	// interrupted: stopped by something else, at any instruction
	interrupted bool
	xregs       uint64 // extended registers of an asynchronously stopped goroutine
	IsCaller    bool
	stack       []byte // from stackFrom to Hi
	stackFrom   uint64
}

// loadGoroutines lists the goroutines that have not ended, with their stacks. For goroutines that
// were running, caller and placed give the position; the other running ones are lost.
func (m *Model) loadGoroutines(caller Caller, placed map[uint64]placement) error {
	r := goroutineReader{m: m, caller: caller, placed: placed}
	r.xregs, r.hasXRegs = m.fields.Maybe("runtime.g", "xRegs.state")
	all, err := m.AllGs()
	if err != nil {
		return err
	}
	if err := m.fields.Err(); err != nil {
		return err
	}
	for _, addr := range all {
		gr, err := r.read(addr)
		if err != nil {
			return err
		}
		if gr != nil {
			m.Goroutines = append(m.Goroutines, gr)
		}
	}
	return m.loadStacks()
}

// A goroutineReader reads the records of goroutines.
type goroutineReader struct {
	m        *Model
	xregs    uint64
	hasXRegs bool
	caller   Caller
	placed   map[uint64]placement
}

// read reads the record at an address, and returns nil if the goroutine has ended.
func (r *goroutineReader) read(addr uint64) (*Goroutine, error) {
	m, g, mem := r.m, &r.m.g, r.m.Mem
	word := func(field uintptr) uint64 { return mem.U64(addr + uint64(field)) }
	status := mem.U32(addr + uint64(g.Status))
	// The runtime may just be copying the stack: pointers may lead into the old or the new one.
	moving := m.stopped && (status&rtlayout.Scanning != 0 || status == rtlayout.Copystack)
	status &^= rtlayout.Scanning
	if rtlayout.HasEnded(status) {
		return nil, nil
	}
	gr := &Goroutine{
		Addr: addr, Lo: word(g.StackLo), Hi: word(g.StackHi),
		ctxt: word(g.Context), ctxtAddr: addr + uint64(g.Context),
		defers: word(g.Defers), panics: word(g.Panics),
		top:  word(g.StackTop),
		GoPC: word(g.GoPC), StartPC: word(g.StartPC),
		async: mem.U8(addr+uint64(g.Async)) != 0,
	}
	if r.hasXRegs && m.Semantics.ScansXRegs && gr.async {
		gr.xregs = mem.U64(addr + r.xregs)
	}
	r.position(gr, status, moving)
	if m.stopped && (gr.SP < gr.Lo || gr.SP > gr.Hi) {
		gr.lost, gr.SP = true, gr.Lo
	}
	if gr.Lo == 0 || gr.Hi <= gr.Lo || gr.Hi-gr.Lo > 1<<40 || gr.SP < gr.Lo || gr.SP > gr.Hi {
		return nil, fmt.Errorf("a goroutine in state %d has an impossible stack", status)
	}
	return gr, nil
}

// position finds out where a goroutine stands.
func (r *goroutineReader) position(gr *Goroutine, status uint32, moving bool) {
	g := &r.m.g
	word := func(field uintptr) uint64 { return r.m.Mem.U64(gr.Addr + uint64(field)) }
	p, onThread := r.placed[gr.Addr]
	sysSP := word(g.SyscallSP)
	switch {
	case gr.Addr == r.caller.G || (r.caller.G == 0 && gr.Lo < r.caller.SP && r.caller.SP <= gr.Hi):
		gr.IsCaller = true
		gr.PC, gr.SP, gr.ctxt, gr.async = r.caller.PC, r.caller.SP, 0, false
	case sysSP != 0:
		// From go1.26 on, a goroutine that returns from a system call is "running" without a P
		// (runtime/proc.go, exitsyscall); its position at the entry is still valid.
		gr.PC, gr.SP, gr.syscall = word(g.SyscallPC), sysSP, true
	case onThread:
		gr.registers, gr.interrupted, gr.lost = p.registers, p.interrupted, p.positionUnknown || moving
		switch {
		case p.sp != 0:
			gr.PC, gr.SP, gr.lr, gr.ctxt, gr.async, gr.xregs = p.pc, p.sp, p.lr, 0, false, 0
		case p.positionUnknown:
			gr.SP = gr.Lo
		default:
			gr.PC, gr.SP, gr.lr = word(g.PC), word(g.SP), word(g.LR)
		}
	case status == rtlayout.Running:
		gr.lost = true
		gr.SP = gr.Lo
	default:
		gr.PC, gr.SP, gr.lr = word(g.PC), word(g.SP), word(g.LR)
		gr.lost = moving
	}
}

// loadStacks loads the used parts of the goroutines' stacks.
func (m *Model) loadStacks() error {
	stacks := make([]image.Range, len(m.Goroutines))
	for i, gr := range m.Goroutines {
		stacks[i] = image.Range{Addr: gr.SP, Len: gr.Hi - gr.SP}
	}
	loaded, err := m.Mem.Load(stacks)
	if err != nil {
		return err
	}
	for i, gr := range m.Goroutines {
		gr.stack, gr.stackFrom = loaded[i], gr.SP
		if uint64(len(gr.stack)) != gr.Hi-gr.SP {
			if !gr.lost {
				return fmt.Errorf("%d of %d bytes of a stack can be read", len(gr.stack), gr.Hi-gr.SP)
			}
			gr.Hi = gr.SP + uint64(len(gr.stack))
		}
		if gr.lost && !m.stopped {
			m.Warn("a goroutine was running while the process was frozen; its stack is scanned conservatively")
		}
	}
	// This bounds the cost of all stacks together by the memory that they take.
	sort.Slice(stacks, func(i, j int) bool { return stacks[i].Addr < stacks[j].Addr })
	for i := 1; i < len(stacks); i++ {
		if stacks[i].Addr < stacks[i-1].End() {
			return errors.New("two goroutines have the same stack")
		}
	}
	return m.Mem.Err()
}

// Lost reports whether the goroutine was running without a usable record: its frames and its stack
// pointer are unknown.
func (g *Goroutine) Lost() bool { return g.lost }

// word reads a word of the stack; ok is false outside of its used part.
func (g *Goroutine) word(addr uint64) (uint64, bool) {
	off := addr - g.stackFrom
	if off+8 > uint64(len(g.stack)) || off+8 < 8 {
		return 0, false
	}
	return u64(g.stack, off), true
}

// Stack returns the used part of the stack from an address on, nil if the address is outside of it.
func (g *Goroutine) Stack(addr uint64) []byte {
	off := addr - g.stackFrom
	if off >= uint64(len(g.stack)) {
		return nil
	}
	return g.stack[off:]
}

// Entry returns the goroutine's entry function, or nil.
func (m *Model) Entry(g *Goroutine) *Func { return m.FuncAt(g.StartPC) }

// Creator returns the function that holds the go statement which made g, and the statement's
// place; nil for the main goroutine, which the program's first instructions make by a wrapper of
// runtime.newproc (go1.26 and go1.27 runtime/asm_amd64.s, rt0_go).
func (m *Model) Creator(g *Goroutine) (f *Func, file string, line int) {
	f = m.FuncAt(g.GoPC)
	if f == nil || f.Name == "runtime.newproc" {
		return nil, "", 0
	}
	pc := g.GoPC
	if pc > f.Entry {
		pc--
	}
	file, line = m.Line(f, pc)
	return f, file, line
}
