package alloctrace

// goroutines tells which goroutine runs on each thread, while events are gone through in the order
// of batches: what a thread did is in order, what threads did at the same time need not be.
type goroutines struct {
	on map[uint64]uint64 // goroutine by thread; 0: none
}

func newGoroutines() *goroutines { return &goroutines{on: make(map[uint64]uint64)} }

// step takes an event of a thread into account. It has to be called after the event was looked at.
func (g *goroutines) step(thread uint64, e *event) {
	switch e.kind {
	case evGoStart, evGoSwitch, evGoSwitchDestroy, evGoCreateSyscall:
		g.on[thread] = e.arguments[1]
	case evGoStatus, evGoStatusStack:
		if state := e.arguments[3]; state == goRunning || state == goSyscall {
			g.on[e.arguments[2]] = e.arguments[1]
		}
	case evGoDestroy, evGoDestroySyscall, evGoStop, evGoBlock, evGoSyscallEndBlocked:
		g.on[thread] = 0
	}
}

// A birth is how a goroutine came to be.
type birth struct{ parent, time uint64 }

// born returns the goroutine that an event tells the creation of, or 0.
func born(e *event) uint64 {
	if e.kind == evGoCreate || e.kind == evGoCreateBlocked {
		return e.arguments[1]
	}
	return 0
}
