package goruntime

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/memory/objset"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// ErrCollecting says that a garbage collection was under way when the process was frozen, so that
// the mark bits are not reliable. Freezing again helps.
var ErrCollecting = errors.New("a garbage collection was under way")

// Model is the state of the runtime of a frozen Go process. Its methods for objects, types and
// functions are safe for concurrent use.
type Model struct {
	Mem        *image.Space
	Modules    []*Module
	Spans      []Span // in use, by address
	NumObjects uint32 // slots in all spans; object numbers are below it
	Cycles     uint32 // garbage collections so far, modulo 2^31
	Unswept    int    // spans whose garbage was not yet freed
	Goroutines []*Goroutine
	Warnings   []string
	Stopped    Stop // see LoadStopped
	// Peek reads a word as it is now, in place; nil unless the model is of this very process
	Peek func(addr uint64) uint64
	// nanotime when the process was frozen; 0 if it is not known, else set by the code that made
	// the model
	Now int64
	// its deadline bounds scans of the model; nil: nothing does. See InTime
	Context context.Context
	// returns an error if there is no memory to go on; nil: nothing watches
	Watch func() error
	// of the program's Go version
	Semantics rtlayout.Semantics

	names    *debuginfo.Index
	fields   *rtlayout.Lookup
	bias     uint64
	arch     arch
	greenTea bool
	pages    *pageTable
	spanAt   []uint32 // index of the span of every 64th object
	pcs      map[uint64]*pcInfo
	warned   map[string]bool
	stopped  bool // by something else than this process, at any instruction
	// raceDetector says that the program was built with the race detector.
	raceDetector bool
	g            rtlayout.Goroutine
	thread       rtlayout.Thread
	sudog        rtlayout.Sudog
	deferred     rtlayout.Deferred
	channel      rtlayout.Channel
	variables    rtlayout.Variables
	funcs        objset.AddressMap[Func]  // by entry
	rtypes       objset.AddressMap[RType] // nil where there is no type

	mu sync.Mutex // held while functions, types and masks are added
}

// Caller is the goroutine that froze the process: it was running, so the runtime's record of it is
// stale. PC is a return address; SP is the stack pointer after the return.
type Caller struct{ G, PC, SP uint64 }

// LoadCode returns a model of the program's functions alone.
func LoadCode(mem *image.Space, names *debuginfo.Index, bias uint64, goarch string) (*Model, error) {
	return modelWith(mem, names, bias, goarch, false)
}

// newModel returns a model with the program's modules, which all other structures are read with.
func newModel(mem *image.Space, names *debuginfo.Index, bias uint64, goarch string) (*Model, error) {
	return modelWith(mem, names, bias, goarch, true)
}

func modelWith(mem *image.Space, names *debuginfo.Index, bias uint64, goarch string, variables bool) (*Model, error) {
	semantics, err := rtlayout.SemanticsOf(names.GoVersion())
	if err != nil {
		return nil, err
	}
	a, ok := archs[goarch]
	if !ok {
		return nil, fmt.Errorf("the stack layout of %s is not known", goarch)
	}
	m := &Model{
		Mem: mem, names: names, fields: rtlayout.In(names, bias), bias: bias, arch: a, Semantics: semantics,
		pcs: make(map[uint64]*pcInfo), warned: make(map[string]bool),
	}
	// Only a build with the green tea collector (the default, but an experiment may switch it off)
	// has the type; debug information lists what the program uses.
	_, m.greenTea = names.TypeByName(rtlayout.GreenTea)
	m.fields.Fill(&m.g, &m.thread, &m.sudog, &m.deferred, &m.channel, &m.variables)
	if err := m.fields.Err(); err != nil {
		return nil, err
	}
	if err := m.loadModules(uint64(m.variables.Modules), variables); err != nil {
		return nil, fmt.Errorf("module data: %w", err)
	}
	return m, nil
}

// LoadSpans reads the runtime's structures as far as how large the heap is; LoadObjects reads the
// rest. bias is the difference between addresses in the process and those in the debug information
// (position-independent executables). goarch names the architecture.
func LoadSpans(mem *image.Space, names *debuginfo.Index, bias uint64, goarch string) (*Model, error) {
	m, err := newModel(mem, names, bias, goarch)
	if err != nil {
		return nil, err
	}
	return m, m.loadSpans()
}

// LoadObjects copies PointerBytes of memory, and more for stacks.
func (m *Model) LoadObjects(caller Caller) error {
	if err := m.loadObjects(); err != nil {
		return fmt.Errorf("heap spans: %w", err)
	}
	if err := m.loadGoroutines(caller, nil); err != nil {
		return fmt.Errorf("goroutines: %w", err)
	}
	return m.Mem.Err()
}

// PointerBytes is the size in bytes of the spans whose objects hold pointers.
func (m *Model) PointerBytes() (n uint64) {
	for i := range m.Spans {
		if s := &m.Spans[i]; !s.NoScan {
			n += s.Size
		}
	}
	return n
}

// LoadMarks is LoadSpans for a reader that needs only the marks of the last collection. The model
// has no memory of objects and no goroutines.
func LoadMarks(mem *image.Space, names *debuginfo.Index, bias uint64, goarch string) (*Model, error) {
	m, err := LoadSpans(mem, names, bias, goarch)
	if err != nil {
		return nil, err
	}
	return m.onlyMarks()
}

// LoadStoppedMarks is LoadMarks for a process that something else stopped. The collector may be
// marking: then all spans are swept, and keep the marks of the collection before until they are
// swept again (runtime/mgcsweep.go, sweep).
func LoadStoppedMarks(mem *image.Space, names *debuginfo.Index, bias uint64, goarch string) (*Model, error) {
	m, err := newModel(mem, names, bias, goarch)
	if err != nil {
		return nil, err
	}
	if err := m.loadSpanTable(); err != nil {
		return nil, fmt.Errorf("heap spans: %w", err)
	}
	return m.onlyMarks()
}

func (m *Model) onlyMarks() (*Model, error) {
	if err := m.loadInlineMarks(false); err != nil {
		return nil, err
	}
	return m, m.Mem.Err()
}

func (m *Model) loadSpans() error {
	if m.Mem.U32(uint64(m.variables.Phase)) != 0 {
		return ErrCollecting
	}
	if err := m.loadSpanTable(); err != nil {
		return fmt.Errorf("heap spans: %w", err)
	}
	return nil
}

// GoVersion is the Go version of the program.
func (m *Model) GoVersion() string { return m.names.GoVersion() }

// Bias is the difference between addresses in the process and in the debug information.
func (m *Model) Bias() uint64 { return m.bias }

// Fields returns a lookup of the program's types and variables.
func (m *Model) Fields() *rtlayout.Lookup { return rtlayout.In(m.names, m.bias) }

// Warn adds a warning, once.
func (m *Model) Warn(format string, args ...any) {
	w := fmt.Sprintf(format, args...)
	if !m.warned[w] {
		m.warned[w] = true
		m.Warnings = append(m.Warnings, w)
	}
}
