package alloctrace

import "cmp"

// A position is a place in what one goroutine did. Times do not order what it did on several threads:
// a thread that writes events quickly gives each a later one, and so gets ahead of others. But each
// time that it goes on it says how often it has.
type position struct {
	generation, sequence uint64 // of the event that it went on with
	event                int    // counted since
}

func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(p.generation, q.generation), cmp.Compare(p.sequence, q.sequence), cmp.Compare(p.event, q.event))
}

// A run is what a thread does: which goroutine it runs, and where in what that does it is.
type run struct {
	goroutine uint64 // 0: none
	at        position
}

// runs has what each thread does, while events are gone through in the order of batches: what one
// thread did is in order.
type runs map[uint64]run

// runsAtFirst has what threads do that were in a system call when the trace began, which another
// thread says.
func runsAtFirst(batches []*batch) (runs, error) {
	r := make(runs)
	for _, b := range batches {
		if b.generation != batches[0].generation {
			break
		}
		err := b.each(func(e *event) {
			thread, status := statusOf(b, e)
			if _, known := r[thread]; status.goroutine != 0 && !known && thread != b.thread {
				r[thread] = status
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// statusOf returns what an event says that a thread does; a run without a goroutine if it is no such
// event.
func statusOf(b *batch, e *event) (thread uint64, status run) {
	if e.kind != evGoStatus && e.kind != evGoStatusStack || e.arguments[3] != goRunning && e.arguments[3] != goSyscall {
		return 0, run{}
	}
	return e.arguments[2], run{e.arguments[1], position{generation: b.generation}}
}

// each calls f for the events of a batch, with what its thread does at each.
func (r runs) each(b *batch, f func(e *event, on run)) error {
	now, known := r[b.thread]
	err := b.each(func(e *event) {
		f(e, now)
		known = now.step(b, e, known)
	})
	if known {
		r[b.thread] = now
	}
	return err
}

// step takes an event of a thread into account. It reports whether it is known what the thread does.
func (r *run) step(b *batch, e *event, known bool) bool {
	r.at.event++
	switch e.kind {
	case evGoStart, evGoSwitch, evGoSwitchDestroy:
		*r = run{e.arguments[1], position{generation: b.generation, sequence: e.arguments[2]}}
	case evGoCreateSyscall:
		*r = run{e.arguments[1], position{generation: b.generation}}
	case evGoStatus, evGoStatusStack:
		if thread, status := statusOf(b, e); status.goroutine != 0 && thread == b.thread {
			*r = status
		}
	case evGoDestroy, evGoDestroySyscall, evGoStop, evGoBlock, evGoSyscallEndBlocked:
		r.goroutine = 0
	default:
		if !known {
			*r = run{}
		}
		return known
	}
	return true
}

// born returns the goroutine that an event tells the creation of, or 0.
func born(e *event) uint64 {
	if e.kind == evGoCreate || e.kind == evGoCreateBlocked {
		return e.arguments[1]
	}
	return 0
}
