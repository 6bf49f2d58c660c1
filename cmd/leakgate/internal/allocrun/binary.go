package allocrun

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/leakgate/leakgate/internal/alloccode"
)

// A testBinary is a test binary that leakgate built.
type testBinary struct {
	path    string
	module  string // path of the main module; "": none
	types   *alloccode.Types
	classes []int64 // sizes of the heap's size classes, in order; the first stands for large objects
}

// stackEvents are the runtime's functions that write an event when a goroutine's stack moves
// (go1.26, go1.27: runtime/traceallocfree.go). If a stack grows just when its thread's trace buffer
// is full, that event passes the buffer on a second time: it is freed twice when the trace stops,
// and the process crashes or writes the trace for ever (runtime/tracebuf.go, refill). leakgate
// needs none of these events.
var stackEvents = []string{"runtime.traceLocker.GoroutineStackAlloc", "runtime.traceLocker.GoroutineStackFree"}

// returns is the instruction that returns from a function, by machine.
var returns = map[elf.Machine][]byte{
	elf.EM_X86_64:  {0xc3},
	elf.EM_AARCH64: {0xc0, 0x03, 0x5f, 0xd6},
}

// prepare reads from a test binary what a trace needs. It also patches the binary: its stackEvents
// return at once, and its tiny objects are separate.
func (b *testBinary) prepare() error {
	if runtime.GOOS != "linux" {
		return errors.New("types are known on linux only")
	}
	f, err := elf.Open(b.path)
	if err != nil {
		return fmt.Errorf("the test binary cannot be read: %w", err)
	}
	defer func() { _ = f.Close() }()
	symbols, err := f.Symbols()
	if err != nil {
		return fmt.Errorf("the symbols of the test binary: %w", err)
	}
	byName := make(map[string]elf.Symbol)
	for _, s := range symbols {
		byName[s.Name] = s
	}
	if b.classes, err = readClasses(f, byName); err != nil {
		return err
	}
	if b.types, err = readTypes(func(address, size uint64) []byte { return readMemory(f, address, size) }, byName); err != nil {
		return err
	}
	code := returns[f.Machine]
	if code == nil {
		return fmt.Errorf("programs for %v are not known to leakgate alloc", f.Machine)
	}
	for _, name := range stackEvents {
		s, ok := byName[name]
		if !ok {
			return unknownRuntime(name)
		}
		if err := overwrite(b.path, f, s, code); err != nil {
			return err
		}
	}
	return b.separateTiny(f, byName)
}

func unknownRuntime(name string) error {
	return fmt.Errorf("the runtime has no function %s: this Go version is not known to leakgate alloc", name)
}

// overwrite replaces the beginning of a function in an executable file.
func overwrite(path string, f *elf.File, s elf.Symbol, code []byte) error {
	text := f.Section(".text")
	if text == nil || s.Value < text.Addr || s.Value+uint64(len(code)) > text.Addr+text.Size || s.Size < uint64(len(code)) {
		return fmt.Errorf("its function %s is not where functions are", s.Name)
	}
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = w.WriteAt(code, int64(text.Offset+s.Value-text.Addr))
	return errors.Join(err, w.Close())
}

// readClasses reads the runtime's table of size classes (go1.26, go1.27:
// internal/runtime/gc/sizeclasses.go).
func readClasses(f *elf.File, symbols map[string]elf.Symbol) ([]int64, error) {
	const name = "internal/runtime/gc.SizeClassToSize"
	s, ok := symbols[name]
	if !ok {
		return nil, fmt.Errorf("the runtime has no table %s: this Go version is not known to leakgate alloc", name)
	}
	data := readMemory(f, s.Value, s.Size)
	if len(data) == 0 || len(data)%2 != 0 {
		return nil, fmt.Errorf("the runtime's table %s cannot be read", name)
	}
	var classes []int64
	for i := 0; i < len(data); i += 2 {
		classes = append(classes, int64(binary.LittleEndian.Uint16(data[i:])))
	}
	return classes, nil
}
