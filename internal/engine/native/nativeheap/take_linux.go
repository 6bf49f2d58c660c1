//go:build linux && (amd64 || arm64)

package nativeheap

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"sync"
	"syscall"

	"github.com/leakgate/leakgate/internal/engine/memory/headroom"
	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/process/freeze"
	"github.com/leakgate/leakgate/internal/procfs"
)

// Supported reports whether C's heap can be read on this system.
const Supported = true

// How often a heap is read until a reading is consistent: while the program runs, which costs
// least, and then frozen.
const (
	looksRunning = 2
	looksFrozen  = 5
)

// known holds the places of this process.
var known struct {
	sync.Mutex
	places  Places
	foreign bool // no attempt found a malloc that is known
}

// knownPlaces returns the known places, with the name that the program has among the mappings.
func knownPlaces() Places {
	if known.places.program == "" {
		known.places.program, _ = os.Readlink("/proc/self/exe")
	}
	return known.places
}

// Take reads the heap of this process. It copies malloc's memory, at some GB/s, while the program
// runs. It accepts the copy if nothing in malloc's records has changed meanwhile; else it freezes
// the process, several times if necessary. Errors are ErrNone and *UnknownError. With 10,000 blocks
// it takes about half a millisecond; a program without a C library costs the reading of
// /proc/self/maps.
//
// Calls take turns.
func Take() (*Heap, error) {
	w, err := take(false)
	if err != nil {
		return nil, err
	}
	return &w.heap, nil
}

// TakeBlocks is like Take, but returns the blocks in use, by address. It takes about 50 ns more for
// each block.
func TakeBlocks() ([]Block, error) {
	w, err := take(true)
	if err != nil {
		return nil, err
	}
	return w.blocks, nil
}

func take(lists bool) (w *walk, err error) {
	known.Lock()
	defer known.Unlock()
	if instrumented != "" {
		return nil, &UnknownError{"the program is built with " + instrumented + ", which has an allocator of its own", "run it without; LeakSanitizer finds blocks that nothing refers to"}
	}
	if known.foreign {
		return nil, errNotFound
	}
	for try := range looksRunning + looksFrozen {
		places := knownPlaces()
		places.plain = places.plain || places.main == 0 && try%2 == 1
		if try < looksRunning {
			w, err = takeRunning(&places, lists)
		} else {
			w, err = takeFrozen(&places, lists)
		}
		if err == nil {
			known.places = places
			return w, nil
		}
		if u := (*UnknownError)(nil); errors.Is(err, ErrNone) || errors.As(err, &u) && u != errNotFound {
			return nil, err
		}
	}
	if errors.Is(err, errNotFound) {
		known.foreign = true
		return nil, err
	}
	if errors.Is(err, ErrFlux) {
		return nil, &UnknownError{err.Error(), "stop the threads that allocate before the assertion; if there are none, report this with the version of glibc"}
	}
	if short := (*headroom.Shortage)(nil); errors.As(err, &short) {
		return nil, &UnknownError{"for a copy of what malloc has " + short.Error(), short.Way()}
	}
	return nil, &UnknownError{err.Error(), "allow the test process what a snapshot takes"}
}

// takeRunning reads the heap as the program runs.
func takeRunning(places *Places, lists bool) (*walk, error) {
	areas, live, err := process()
	if err != nil {
		return nil, err
	}
	if err := hasLibrary(areas, places); err != nil {
		return nil, err
	}
	src, err := freeze.OpenRunning()
	if err != nil {
		return nil, err
	}
	defer func() { _ = src.Close() }()
	mem := image.NewSpace(src)
	w, err := read(mem, areas, live, places)
	if err != nil {
		return nil, err
	}
	if lists { // before the copies go
		w.list()
	}
	again, err := src.Copy(w.seen)
	if err != nil {
		return nil, err
	}
	for i, r := range w.seen {
		if !bytes.Equal(again[i], mem.Bytes(r.Addr, r.Len)) {
			return nil, flux("they changed while they were read")
		}
	}
	return w, nil
}

// takeFrozen reads the heap of a frozen copy of the process.
func takeFrozen(places *Places, lists bool) (w *walk, err error) {
	p, err := freeze.Take()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	areas, live, err := process()
	if err != nil {
		return nil, err
	}
	if w, err = read(image.NewSpace(p), areas, live, places); err == nil && lists {
		w.list()
	}
	return w, err
}

// OfFrozen reads the heap of a frozen copy of this process. pid is the copy's process ID, and mem
// its memory, which the result refers to. Errors are those of read.
func OfFrozen(pid int, mem *image.Space) (*Contents, error) {
	text, err := procfs.Read("/proc/"+strconv.Itoa(pid)+"/maps", make([]byte, 32<<10))
	if err != nil {
		return nil, err
	}
	known.Lock()
	defer known.Unlock()
	if instrumented != "" {
		return nil, &UnknownError{Cause: "the program is built with " + instrumented}
	}
	places := knownPlaces()
	w, err := read(mem, areasOf(text), 0, &places)
	if err != nil {
		return nil, err
	}
	return w.contents(), nil
}

// OfAnother reads the heap of a frozen copy of another process, which runs the given executable
// file. pid is the copy's process ID, and mem its memory. Errors are those of read.
func OfAnother(pid int, program string, mem *image.Space) (*Heap, error) {
	text, err := procfs.Read("/proc/"+strconv.Itoa(pid)+"/maps", make([]byte, 32<<10))
	if err != nil {
		return nil, err
	}
	for plain := range 2 {
		places := Places{program: program, plain: plain == 1}
		var w *walk
		if w, err = read(mem, areasOf(text), 0, &places); err == nil {
			return &w.heap, nil
		}
		if errors.Is(err, ErrNone) {
			break
		}
	}
	return nil, err
}

// hasLibrary returns ErrNone for a program without a C library, before anything is opened.
func hasLibrary(areas []Area, places *Places) error {
	w := &walk{areas: areas, places: places}
	_, _, err := w.library()
	return err
}

// process returns the mappings of this process, and how many threads it has.
func process() (areas []Area, live int, err error) {
	text, err := procfs.Read("/proc/self/maps", make([]byte, 32<<10))
	if err != nil {
		return nil, 0, err
	}
	live, err = countThreads()
	return areasOf(text), live, err
}

func areasOf(text []byte) (areas []Area) {
	for m := range procfs.Areas(text) {
		areas = append(areas, Area{m.Start, m.End, string(m.Mode) == "rw-p", string(m.Name)})
	}
	return areas
}

// countThreads counts the threads of this process: the entries of a folder whose names are numbers.
func countThreads() (n int, err error) {
	dir, err := syscall.Open("/proc/self/task", syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0, &os.PathError{Op: "open", Path: "/proc/self/task", Err: err}
	}
	defer syscall.Close(dir)
	var buf [4096]byte
	for {
		size, err := syscall.ReadDirent(dir, buf[:])
		if err != nil || size == 0 {
			return n, err
		}
		_, _, names := syscall.ParseDirent(buf[:size], -1, nil)
		for _, name := range names {
			if _, err := strconv.Atoi(name); err == nil {
				n++
			}
		}
	}
}
