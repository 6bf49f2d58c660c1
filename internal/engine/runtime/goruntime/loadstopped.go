package goruntime

import (
	"fmt"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// A Stop describes the state of a process at the moment when something else stopped it.
type Stop struct {
	// of the garbage collector: 0 off, 1 marking, 2 mark termination (runtime/mgc.go, _GCoff)
	Phase   uint32
	Threads int
	// Interrupted goroutines ran their own code, or the runtime's: their innermost frames are
	// conservative. Lost ones could not be walked, and their stacks are conservative as a whole.
	Interrupted, Lost int
}

// LoadStopped is LoadSpans and LoadObjects for a process that something else stopped, at any
// instruction of any thread: while it collects garbage, grows a stack or handles a signal. Where
// the state is ambiguous, LoadStopped takes garbage for alive rather than miss an object that is
// alive. The mark bits are those of the last collection that ended.
//
// A call that fails may succeed if the process is stopped at another moment.
func LoadStopped(mem *image.Space, names *debuginfo.Index, bias uint64, goarch string, threads []Thread) (*Model, error) {
	m, err := newModel(mem, names, bias, goarch)
	if err != nil {
		return nil, err
	}
	m.stopped = true
	_, m.raceDetector = names.GlobalByName("runtime.racedatastart")
	m.Stopped.Threads = len(threads)
	m.Stopped.Phase = mem.U32(uint64(m.variables.Phase))
	if err := m.loadSpanTable(); err != nil {
		return nil, fmt.Errorf("heap spans: %w", err)
	}
	if err := m.loadObjects(); err != nil {
		return nil, fmt.Errorf("heap spans: %w", err)
	}
	placed, err := m.place(threads)
	if err != nil {
		return nil, fmt.Errorf("threads: %w", err)
	}
	if err := m.loadGoroutines(Caller{G: noCaller}, placed); err != nil {
		return nil, fmt.Errorf("goroutines: %w", err)
	}
	if err := mem.Err(); err != nil {
		return nil, err
	}
	return m, m.checkStacks()
}

// WasStopped reports whether something else stopped the process, at any instruction. LoadStopped
// makes such models.
func (m *Model) WasStopped() bool { return m.stopped }

// noCaller is not the address of any g: no goroutine of the process took part in stopping it.
const noCaller = 1
