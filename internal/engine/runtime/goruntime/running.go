package goruntime

import (
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// A Running reads a few records of a process that goes on meanwhile: what it returns may never have
// been true at one moment. It is not safe for concurrent use.
type Running struct {
	m     *Model
	timer rtlayout.Timer
	p     rtlayout.Processor
	calls map[uint64]string // names of functions, by closure
}

// NewRunning reads the data that does not change while a process runs.
func NewRunning(mem *image.Space, names *debuginfo.Index, bias uint64, goarch string) (*Running, error) {
	m, err := newModel(mem, names, bias, goarch)
	if err != nil {
		return nil, err
	}
	m.stopped = true
	r := &Running{m: m, calls: make(map[uint64]string)}
	l := m.Fields()
	l.Fill(&r.timer, &r.p)
	return r, l.Err()
}

// Active returns how many goroutines run, or are about to. Nothing may have been read from mem
// before.
func (r *Running) Active(mem *image.Space) (n int, err error) {
	m := r.m
	m.Mem = mem
	gs, err := m.AllGs()
	if err == nil {
		err = m.loadAround(gs, uint64(m.g.Size))
	}
	if err != nil {
		return 0, err
	}
	for _, g := range gs {
		if s := mem.U32(g+uint64(m.g.Status)) &^ rtlayout.Scanning; s == rtlayout.Runnable || s == rtlayout.Running {
			n++
		}
	}
	return n, nil
}

// EachTimer calls visit with the address of each timer that is set, when it is due, by the clock of
// runtime.nanotime, and whether it repeats. It leaves out those of the network poller, and the one
// of the runtime that gives memory back to the system (runtime/mgcscavenge.go). Nothing may have
// been read from mem before.
func (r *Running) EachTimer(mem *image.Space, visit func(timer uint64, when int64, repeats bool)) error {
	m := r.m
	m.Mem = mem
	list, n := mem.U64(uint64(m.variables.AllPs)), mem.U64(uint64(m.variables.AllPs)+8)
	if n > rtlayout.MaxProcessors {
		return fmt.Errorf("the program claims %d processors", n)
	}
	for i := range n {
		p := mem.U64(list + 8*i)
		if p == 0 {
			continue
		}
		heap, n := mem.U64(p+uint64(r.p.Timers)), mem.U64(p+uint64(r.p.Timers)+8)
		if heap == 0 || n > maxTimers {
			continue // the heap is just growing
		}
		for k := range n {
			t := mem.U64(heap + k*uint64(r.timer.Entry))
			when := int64(mem.U64(t + uint64(r.timer.When)))
			if t == 0 || when == 0 || mem.U8(t+uint64(r.timer.State))&rtlayout.TimerZombie != 0 {
				continue
			}
			call := r.function(mem.U64(t + uint64(r.timer.Fn)))
			if call == "" || strings.HasPrefix(call, "runtime.(*scavengerState)") || strings.HasPrefix(call, "runtime.netpoll") {
				continue
			}
			visit(t, when, mem.U64(t+uint64(r.timer.Period)) != 0)
		}
	}
	return nil
}

// maxTimers bounds the timers of one processor: more are damaged.
const maxTimers = 1 << 20

// function returns the name of the function of a closure, "" if it is not known.
func (r *Running) function(closure uint64) string {
	name, known := r.calls[closure]
	if !known {
		if f := r.m.FuncAt(r.m.Mem.U64(closure)); f != nil {
			name = f.Name
		}
		r.calls[closure] = name
	}
	return name
}
