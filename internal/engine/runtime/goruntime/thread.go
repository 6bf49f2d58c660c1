package goruntime

import (
	"errors"
	"fmt"
)

// A Thread is what the kernel or a core file records of a thread that something else stopped, at
// any instruction.
type Thread struct {
	TID       int // as in the process's own pid namespace
	PC, SP    uint64
	LR        uint64   // the link register, where the architecture has one; 0: it is not known
	Registers []uint64 // all registers that may hold pointers, vector registers included
}

// A placement is the position of a goroutine whose thread was stopped. The runtime's own record of
// the position is stale.
type placement struct {
	pc, sp, lr uint64
	registers  []uint64 // conservative roots
	// interrupted: stopped at any instruction, so that only its callers have stack maps.
	interrupted bool
	// positionUnknown: its position is unknown, and all of its stack may be in use; sp is 0, or the
	// beginning of the used part.
	positionUnknown bool
}

// maxThreads bounds the list of threads: the kernel's limit of thread numbers (pid_max).
const maxThreads = 1 << 22

// eachThread visits the runtime's list of threads, each with the goroutine that it runs, until
// visit returns false.
func (m *Model) eachThread(visit func(mp, gp uint64) bool) error {
	mem := m.Mem
	n := 0
	for mp := mem.U64(uint64(m.variables.AllMs)); mp != 0; mp = mem.U64(mp + m.thread.Next) {
		if n++; n > maxThreads {
			return errors.New("the list of threads does not end")
		}
		gp := mem.U64(mp + m.thread.Goroutine)
		if err := mem.Err(); err != nil {
			return err
		}
		if !visit(mp, gp) {
			break
		}
	}
	return mem.Err()
}

// place finds the positions of the goroutines that had a thread when something else stopped the
// process, by the address of g. It leaves out goroutines in system calls, whose record in the
// runtime is valid.
func (m *Model) place(threads []Thread) (map[uint64]placement, error) {
	byTID := make(map[int]*Thread, len(threads))
	for i := range threads {
		byTID[threads[i].TID] = &threads[i]
	}
	mem := m.Mem
	at := make(map[uint64]placement)
	err := m.eachThread(func(mp, gp uint64) bool {
		if gp == 0 || mem.U64(gp+uint64(m.g.SyscallSP)) != 0 {
			return true
		}
		t := byTID[int(mem.U64(mp+m.thread.ID))]
		if t == nil || !m.onAny(t.SP, mp, gp) {
			t = m.threadOn(threads, mp, gp) // thread IDs of another pid namespace
		}
		if t != nil { // otherwise the goroutine is lost
			at[gp] = m.placeOne(t, mp, gp)
		}
		return true
	})
	return at, err
}

func (m *Model) stack(g uint64) (lo, hi uint64) {
	if g == 0 {
		return 0, 0
	}
	return m.Mem.U64(g + uint64(m.g.StackLo)), m.Mem.U64(g + uint64(m.g.StackHi))
}

// on reports whether a stack pointer lies on the stack of g.
func (m *Model) on(sp, g uint64) bool {
	lo, hi := m.stack(g)
	return lo < sp && sp <= hi
}

// onAny reports whether a stack pointer lies on one of the three stacks of a thread.
func (m *Model) onAny(sp uint64, mp, gp uint64) bool {
	return m.on(sp, gp) || m.on(sp, m.Mem.U64(mp+m.thread.Signal)) || m.on(sp, m.Mem.U64(mp+m.thread.G0))
}

func (m *Model) threadOn(threads []Thread, mp, gp uint64) *Thread {
	for i := range threads {
		if m.onAny(threads[i].SP, mp, gp) {
			return &threads[i]
		}
	}
	return nil
}

// placeOne finds the position of a thread's goroutine.
func (m *Model) placeOne(t *Thread, mp, gp uint64) placement {
	here := *t
	if sig := m.Mem.U64(mp + m.thread.Signal); m.on(t.SP, sig) {
		lo, hi := m.stack(sig)
		var ok bool
		if here, ok = m.interruptedBy(t.SP, lo, hi); !ok {
			return placement{registers: m.wordsOf(t.SP, hi), positionUnknown: true}
		}
	}
	if sp := m.Mem.U64(mp + m.thread.ClockSP); sp != 0 && m.on(sp, gp) {
		// The goroutine reads the clock: it made the call on its own stack, but the code that runs
		// is on another stack (runtime/sys_linux_amd64.s, nanotime1).
		return placement{pc: m.Mem.U64(mp + m.thread.ClockPC), sp: sp, registers: here.Registers}
	}
	switch fn := m.FuncAt(here.PC); {
	case m.on(here.SP, gp):
		p := placement{pc: here.PC, sp: here.SP, lr: here.LR, registers: here.Registers, interrupted: true}
		if fn == nil || fn.Name == "runtime.gogo" || m.arch.usesLR && here.LR == 0 {
			// gogo has loaded the stack pointer of its target, but nothing else yet
			// (runtime/asm_amd64.s). Where the return address may be in the link register alone,
			// that must be known.
			p.positionUnknown = true
		}
		return p
	case m.raceDetector || m.Mem.U64(gp+uint64(m.g.SP)) == 0:
		// The race detector runs on the thread's stack without a record (runtime/race_amd64.s,
		// racecall), and gogo erases the record when it has jumped.
		return placement{registers: here.Registers, positionUnknown: true}
	}
	// Code that switches to the thread's stack leaves a record first (mcall, systemstack,
	// morestack, asmcgocall).
	return placement{registers: here.Registers}
}

// interruptedBy finds the registers that the kernel saved when it called a signal handler. The
// handler's frame lies between sp and the top of the signal stack. It contains the bounds of that
// stack, as the thread passed them to sigaltstack (uapi/asm-generic/ucontext.h and
// asm/sigcontext.h; runtime/signal_unix.go, signalstack).
func (m *Model) interruptedBy(sp, lo, hi uint64) (Thread, bool) {
	b := m.Mem.Bytes(sp&^7, hi-sp&^7)
	for i := uint64(0); i+8*m.arch.sigWords <= uint64(len(b)); i += 8 {
		if u64(b, i) != lo || u64(b, i+16) != hi-lo {
			continue
		}
		saved := b[i+m.arch.sigRegisters:]
		return Thread{
			PC: u64(saved, 8*m.arch.sigPC), SP: u64(saved, 8*m.arch.sigSP), LR: m.arch.linkRegister(saved),
			Registers: nonzero(b[i+m.arch.sigRegisters:]), // including the vector registers
		}, true
	}
	return Thread{}, false
}

func (a *arch) linkRegister(saved []byte) uint64 {
	if !a.usesLR {
		return 0
	}
	return u64(saved, 8*a.sigLR)
}

// wordsOf returns the nonzero words of a stack from sp up.
func (m *Model) wordsOf(sp, hi uint64) []uint64 {
	if sp >= hi || hi-sp > 1<<20 {
		return nil
	}
	return nonzero(m.Mem.Bytes(sp&^7, hi-sp&^7))
}

func nonzero(b []byte) []uint64 {
	var out []uint64
	for i := uint64(0); i+8 <= uint64(len(b)); i += 8 {
		if v := u64(b, i); v != 0 {
			out = append(out, v)
		}
	}
	return out
}

// hasNoMap reports whether calls of a function are not safe points, so that the caller has no stack
// map at the call: the compiler calls these functions in place of a few instructions
// (cmd/compile/internal/ssa: OpAMD64LoweredWB, DUFFZERO, DUFFCOPY).
func hasNoMap(f *Func) bool {
	switch f.Name {
	case "runtime.duffzero", "runtime.duffcopy":
		return true
	}
	const barrier = "gcWriteBarrier"
	for _, prefix := range [...]string{barrier, "runtime." + barrier} {
		if len(f.Name) >= len(prefix) && f.Name[:len(prefix)] == prefix {
			return true
		}
	}
	return false
}

// checkStacks walks all stacks once. If a process was stopped at any instruction, some stacks
// cannot be walked: their goroutines are lost, and the stacks are scanned conservatively as a
// whole.
func (m *Model) checkStacks() error {
	for _, g := range m.Goroutines {
		if g.lost {
			continue
		}
		if err := m.LiveSlots(g, func(Slot) {}); err != nil {
			if broken := m.Mem.Err(); broken != nil {
				return fmt.Errorf("a stack: %w", broken)
			}
			g.lost = true
		}
	}
	for _, g := range m.Goroutines {
		switch {
		case g.lost:
			m.Stopped.Lost++
		case g.interrupted:
			m.Stopped.Interrupted++
		}
	}
	return nil
}
