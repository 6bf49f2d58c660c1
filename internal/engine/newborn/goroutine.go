package newborn

import (
	"github.com/leakgate/leakgate/internal/engine/peek"
	"github.com/leakgate/leakgate/internal/engine/rtlayout"
)

func (l *Layout) numGoroutines() int { return int(peek.Word(l.allgs + 8)) }

// eachGoroutine calls visit with the number of each goroutine and its record's place in the
// runtime's list, which the record has for good. Records are used again for others.
func (l *Layout) eachGoroutine(visit func(k int, id uint64)) {
	list := peek.Word(l.allgs)
	for k := range l.numGoroutines() {
		g := peek.Word(list + uintptr(8*k))
		if !rtlayout.HasEnded(peek.Half(g+l.gStatus) &^ rtlayout.Scanning) {
			visit(k, uint64(peek.Word(g+l.gID)))
		}
	}
}

// timerWhenSize is the size of runtime.timerWhen: a timer, and when it is due.
const timerWhenSize = 16

func (l *Layout) numTimers() (n int) {
	l.eachTimer(func(uint64) { n++ })
	return n
}

// eachTimer calls visit with the address of each timer that is set. The processors' lists are not
// locked: a timer may be missed that is being moved by another processor, or come twice.
func (l *Layout) eachTimer(visit func(timer uint64)) {
	l.eachProcessor(func(p uintptr) {
		heap, n := peek.Word(p+l.pTimers), uint64(peek.Word(p+l.pTimers+8))
		for k := range n {
			if t := uint64(peek.Word(heap + uintptr(timerWhenSize*k))); t != 0 && peek.Byte(uintptr(t)+l.timerState)&rtlayout.TimerZombie == 0 {
				visit(t)
			}
		}
	})
}

func (l *Layout) eachProcessor(visit func(p uintptr)) {
	list := peek.Word(l.allp)
	for i := range uint64(peek.Word(l.allp + 8)) {
		if p := peek.Word(list + uintptr(8*i)); p != 0 {
			visit(p)
		}
	}
}

// processorHas is how many records a processor has at hand at most, in each of two lists (go1.26 and
// go1.27 runtime/runtime2.go, p.sudogbuf and p.deferpoolbuf).
const processorHas = 128

func (l *Layout) numProcessors() int { return int(peek.Word(l.allp + 8)) }

// eachSpare calls visit with the addresses of the runtime's own objects that come and go by chance:
// the records of goroutines, which are counted by themselves, and what processors have at hand for
// goroutines that wait and for deferred calls.
func (l *Layout) eachSpare(visit func(p uint64)) {
	list := peek.Word(l.allgs)
	for k := range l.numGoroutines() {
		visit(uint64(peek.Word(list + uintptr(8*k))))
	}
	l.eachProcessor(func(p uintptr) {
		for _, field := range [...]uintptr{l.pSudogs, l.pDefers} {
			list := peek.Word(p + field)
			for k := range min(uint64(peek.Word(p+field+8)), processorHas) {
				visit(uint64(peek.Word(list + uintptr(8*k))))
			}
		}
	})
}
