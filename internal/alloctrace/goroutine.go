package alloctrace

import "cmp"

// A position is a point in the execution of one goroutine. Times do not order its events on several
// threads: a thread that writes events quickly gives each event a later time, and so gets ahead of
// others. But each event with which a goroutine continues has a sequence number.
type position struct {
	generation, sequence uint64 // of the event with which it continued
	event                int    // number of events since then
}

func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(p.generation, q.generation), cmp.Compare(p.sequence, q.sequence), cmp.Compare(p.event, q.event))
}

// A threadState is what a thread executes: a goroutine, at a position in its execution.
type threadState struct {
	goroutine uint64 // 0: none
	at        position
}

// threadStates has the run of each thread, while events are read in the order of batches: the
// events of one thread are in order.
type threadStates map[uint64]threadState

// runsAtFirst has the runs of threads that were in a system call when the trace began. Events of
// other threads report them.
func runsAtFirst(batches []*batch) (threadStates, error) {
	r := make(threadStates)
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

// statusOf returns the thread and the run that a status event reports; for other events the run has
// no goroutine.
func statusOf(b *batch, e *event) (thread uint64, status threadState) {
	if e.kind != evGoStatus && e.kind != evGoStatusStack || e.arguments[3] != goRunning && e.arguments[3] != goSyscall {
		return 0, threadState{}
	}
	return e.arguments[2], threadState{e.arguments[1], position{generation: b.generation}}
}

// each calls f for the events of a batch, with the run of its thread at each event.
func (r threadStates) each(b *batch, f func(e *event, on threadState)) error {
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

// step updates a run by an event of its thread. It reports whether the run is known.
func (r *threadState) step(b *batch, e *event, known bool) bool {
	r.at.event++
	switch e.kind {
	case evGoStart, evGoSwitch, evGoSwitchDestroy:
		*r = threadState{e.arguments[1], position{generation: b.generation, sequence: e.arguments[2]}}
	case evGoCreateSyscall:
		*r = threadState{e.arguments[1], position{generation: b.generation}}
	case evGoStatus, evGoStatusStack:
		if thread, status := statusOf(b, e); status.goroutine != 0 && thread == b.thread {
			*r = status
		}
	case evGoDestroy, evGoDestroySyscall, evGoStop, evGoBlock, evGoSyscallEndBlocked:
		r.goroutine = 0
	default:
		if !known {
			*r = threadState{}
		}
		return known
	}
	return true
}

// born returns the goroutine whose creation an event reports, or 0.
func born(e *event) uint64 {
	if e.kind == evGoCreate || e.kind == evGoCreateBlocked {
		return e.arguments[1]
	}
	return 0
}
