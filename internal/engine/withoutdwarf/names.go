package withoutdwarf

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/debuginfo"
	"github.com/leakgate/leakgate/internal/engine/image"
	"github.com/leakgate/leakgate/internal/engine/rtlayout"
)

// Process describes the running process, for reading its frozen copy. Its addresses, and those that
// Names returns, are addresses in the process.
type Process struct {
	GoVersion    string // runtime.Version()
	Module       uint64 // address of the only moduledata
	WriteBarrier uint64 // address of runtime.writeBarrier
	G, PC        uint64 // of the goroutine that froze the process
}

// Names answers the queries of a debuginfo.Index as far as that is possible. It is not safe for
// concurrent use.
type Names struct {
	mem       *image.Space
	goVersion string
	variables map[string]uint64
	types     []typeEntry // by TypeID
	byAddr    map[uint64]debuginfo.TypeID
	byName    map[string]debuginfo.TypeID
	lo, hi    uint64 // the module's type descriptors
	mapTail   uint64 // see tail
}

// New finds the runtime's variables in a frozen process. It reads the data segment once, and the
// headers of all spans.
func New(source image.Source, p Process) (*Names, error) {
	minor, err := supportedMinor(p.GoVersion)
	if err != nil {
		return nil, err
	}
	n := &Names{
		mem: image.NewSpace(source), goVersion: p.GoVersion, types: make([]typeEntry, 1),
		byAddr: make(map[uint64]debuginfo.TypeID), byName: make(map[string]debuginfo.TypeID),
	}
	for _, t := range parseLayouts(tables[minor]) {
		n.register(typeEntry{t: t, known: true})
	}
	// Only the presence of the type counts: the collector is green tea, the default of the versions
	// in the table.
	n.register(typeEntry{t: debuginfo.Type{Name: "runtime.spanInlineMarkBits"}, known: true})
	n.mapTail = 64
	if minor >= 27 {
		n.mapTail = 88 // keys and elements have offsets and strides of their own
	}
	if p.Module == 0 || p.WriteBarrier == 0 || p.G == 0 {
		return nil, errors.New("the process does not say where its runtime is")
	}
	l := locator{source: source, n: n, p: p, layout: rtlayout.In(n, 0)}
	if n.variables, err = l.locate(); err != nil {
		return nil, err
	}
	return n, nil
}

// supportedMinor returns the minor Go version, by which the table of layouts goes. Experiments
// change layouts, and the table is made without any.
func supportedMinor(version string) (int, error) {
	if !strings.Contains(version, "X:") {
		for minor := range tables {
			rest, ok := strings.CutPrefix(version, "go1."+strconv.Itoa(minor))
			if ok && (rest == "" || rest[0] == '.') {
				return minor, nil
			}
		}
	}
	return 0, fmt.Errorf("the layouts of the runtime's structures of %s are known from debug information only", version)
}

// GoVersion is that of the process.
func (n *Names) GoVersion() string { return n.goVersion }

// GlobalByName finds only the runtime's variables that New found.
func (n *Names) GlobalByName(name string) (debuginfo.Global, bool) {
	addr, ok := n.variables[name]
	return debuginfo.Global{Name: name, Package: "runtime", Addr: addr}, ok
}

// WithoutQueues marks a source of names that does not know the queues of finalizers and cleanups.
func (n *Names) WithoutQueues() {}

// Globals returns nothing.
func (n *Names) Globals() []debuginfo.Global { return nil }

// Warnings returns nothing.
func (n *Names) Warnings() []string { return nil }

// FuncByPC finds nothing: the function table of the process has the functions.
func (n *Names) FuncByPC(uint64) (debuginfo.Func, bool) { return debuginfo.Func{}, false }

// Locals returns nothing.
func (n *Names) Locals(uint64) []debuginfo.Local { return nil }

// Signature returns nothing.
func (n *Names) Signature(uint64) (debuginfo.TypeID, []debuginfo.DictType) { return 0, nil }

// Captures returns nothing.
func (n *Names) Captures(uint64) []debuginfo.Capture { return nil }
