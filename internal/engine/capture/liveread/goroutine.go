package liveread

import (
	"runtime"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

func (l *Layout) numGoroutines() int { return int(offheap.Word(l.at.AllGs + 8)) }

// eachGoroutine calls visit with the ID of each goroutine and the index of its record in the
// runtime's list. A record keeps its index, but the runtime reuses it for other goroutines.
func (l *Layout) eachGoroutine(visit func(k int, id uint64)) {
	list := offheap.Word(l.at.AllGs)
	for k := range l.numGoroutines() {
		g := offheap.Word(list + uintptr(8*k))
		if !rtlayout.HasEnded(offheap.Half(g+l.g.Status) &^ rtlayout.Scanning) {
			visit(k, uint64(offheap.Word(g+l.g.ID)))
		}
	}
}

func (l *Layout) numTimers() (n int) {
	l.eachTimer(func(uint64) { n++ })
	return n
}

// eachTimer calls visit with the address of each timer that is set. It does not lock the
// processors' lists: if another processor moves a timer meanwhile, eachTimer may miss it or visit
// it twice.
func (l *Layout) eachTimer(visit func(timer uint64)) {
	l.eachProcessor(func(p uintptr) {
		heap, n := offheap.Word(p+l.p.Timers), uint64(offheap.Word(p+l.p.Timers+8))
		for k := range n {
			if t := uint64(offheap.Word(heap + l.timer.Entry*uintptr(k))); t != 0 && offheap.Byte(uintptr(t)+l.timer.State)&rtlayout.TimerZombie == 0 {
				visit(t)
			}
		}
	})
}

// EachDue calls visit with the address of each timer that is set, when it is due, by the clock of
// runtime.nanotime, and whether it repeats. It leaves out the timer of the runtime that gives
// memory back to the system (runtime/mgcscavenge.go).
func (l *Layout) EachDue(visit func(timer uint64, when int64, repeats bool)) {
	var last uintptr
	own := false
	l.eachTimer(func(timer uint64) {
		at := uintptr(timer)
		if f := offheap.Word(at + l.timer.Fn); f != 0 && f != last {
			last, own = f, strings.HasPrefix(runtime.FuncForPC(offheap.Word(f)).Name(), "runtime.(*scavengerState)")
		}
		if !own {
			visit(timer, int64(offheap.Word(at+l.timer.When)), offheap.Word(at+l.timer.Period) != 0)
		}
	})
}

func (l *Layout) eachProcessor(visit func(p uintptr)) {
	list := offheap.Word(l.at.AllPs)
	for i := range uint64(offheap.Word(l.at.AllPs + 8)) {
		if p := offheap.Word(list + uintptr(8*i)); p != 0 {
			visit(p)
		}
	}
}

// processorHas bounds the spare records that a processor keeps in each of two lists (go1.26 and
// go1.27 runtime/runtime2.go, p.sudogbuf and p.deferpoolbuf).
const processorHas = 128

func (l *Layout) numProcessors() int { return int(offheap.Word(l.at.AllPs + 8)) }

// eachSpare calls visit with the addresses of the runtime's own objects, whose number varies by
// chance: the records of goroutines, which are counted separately, and the spare records that
// processors keep for goroutines that wait and for deferred calls.
func (l *Layout) eachSpare(visit func(p uint64)) {
	list := offheap.Word(l.at.AllGs)
	for k := range l.numGoroutines() {
		visit(uint64(offheap.Word(list + uintptr(8*k))))
	}
	l.eachProcessor(func(p uintptr) {
		for _, field := range [...]uintptr{l.p.Sudogs, l.p.Defers} {
			list := offheap.Word(p + field)
			for k := range min(uint64(offheap.Word(p+field+8)), processorHas) {
				visit(uint64(offheap.Word(list + uintptr(8*k))))
			}
		}
	})
}
