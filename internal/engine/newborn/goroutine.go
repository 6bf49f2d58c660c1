package newborn

// States of goroutines that there are none of (go1.26 and go1.27 runtime/runtime2.go).
const (
	idle      = 0
	dead      = 6
	deadExtra = 11 // kept for a thread of C
	scanning  = 0x1000
)

func (l *Layout) numGoroutines() int { return int(word(l.allgs + 8)) }

// eachGoroutine calls visit with the number of each goroutine and its record's place in the
// runtime's list, which the record has for good. Records are used again for others.
func (l *Layout) eachGoroutine(visit func(k int, id uint64)) {
	list := address(l.allgs)
	for k := range l.numGoroutines() {
		g := address(list + uintptr(8*k))
		switch half(g+l.gStatus) &^ scanning {
		case idle, dead, deadExtra:
		default:
			visit(k, word(g+l.gID))
		}
	}
}

const (
	// timerWhenSize is the size of runtime.timerWhen: a timer, and when it is due.
	timerWhenSize = 16
	// timerZombie is set in the state of a timer that was stopped, and is still in the list (go1.26
	// and go1.27 runtime/time.go).
	timerZombie = 4
)

func (l *Layout) numTimers() (n int) {
	l.eachTimer(func(uint64) { n++ })
	return n
}

// eachTimer calls visit with the address of each timer that is set. The processors' lists are not
// locked: a timer may be missed that is being moved by another processor, or come twice.
func (l *Layout) eachTimer(visit func(timer uint64)) {
	l.eachProcessor(func(p uintptr) {
		heap, n := address(p+l.pTimers), word(p+l.pTimers+8)
		for k := range n {
			if t := word(heap + uintptr(timerWhenSize*k)); t != 0 && octet(uintptr(t)+l.timerState)&timerZombie == 0 {
				visit(t)
			}
		}
	})
}

func (l *Layout) eachProcessor(visit func(p uintptr)) {
	list := address(l.allp)
	for i := range word(l.allp + 8) {
		if p := address(list + uintptr(8*i)); p != 0 {
			visit(p)
		}
	}
}

// processorHas is how many records a processor has at hand at most, in each of two lists (go1.26 and
// go1.27 runtime/runtime2.go, p.sudogbuf and p.deferpoolbuf).
const processorHas = 128

func (l *Layout) numProcessors() int { return int(word(l.allp + 8)) }

// eachSpare calls visit with the addresses of the runtime's own objects that come and go by chance:
// the records of goroutines, which are counted by themselves, and what processors have at hand for
// goroutines that wait and for deferred calls.
func (l *Layout) eachSpare(visit func(p uint64)) {
	list := address(l.allgs)
	for k := range l.numGoroutines() {
		visit(word(list + uintptr(8*k)))
	}
	l.eachProcessor(func(p uintptr) {
		for _, field := range [...]uintptr{l.pSudogs, l.pDefers} {
			list := address(p + field)
			for k := range min(word(p+field+8), processorHas) {
				visit(word(list + uintptr(8*k)))
			}
		}
	})
}
