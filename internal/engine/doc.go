// Package engine has no code: it says what its wings are. Each is a folder, and uses only the wings
// that are named here.
//
// memory is memory as bytes and sets, of this process and of an image. It has reads and writes that
// the race detector does not see (rawmem), memory outside of the Go heap (offheap), an image of a
// process (image), sets of objects and a map by address (objset), work on several processors
// (parallel), how much memory there is (headroom), and what helps where the system refuses
// something (remedy). It knows nothing of Go's runtime, and uses no other wing.
//
// symbols reads executables. In goes a program's file, out comes what its compiler and linker knew:
// functions, variables and types from DWARF, as an index that is cached (debuginfo), and sections
// and symbols in ELF, Mach-O and PE (objfile). It uses memory.
//
// runtime knows Go's runtime. In goes an image with the program's symbols, out come the runtime's
// own structures: their fields' offsets (rtlayout), modules, spans, specials, and goroutines with
// their frames (goruntime), states of goroutines and the memory of their stacks (gstate), and the
// collector's counters (gcwatch). A new release of Go touches this wing. It uses memory and
// symbols.
//
// process gets hold of a process's memory: this process by a fork (freeze) or by a copy in place
// (inplace), another one that runs (attach), or a core dump and the program's file (elfimage). Out
// comes an image. It uses memory, symbols and runtime.
//
// heap gives each object of an image its type. In go the runtime's structures, out comes the typed
// heap: which objects are alive (live), types of variables and what they refer to (heaptype,
// dataseg, stackvar, timer), the type of each object and whether its use is over (typing), and all
// of it together (typedheap). It uses memory, symbols and runtime.
//
// graph says who holds what. In goes the typed heap, out come the roots (root), a tree of what is
// charged to each (attribute), what a root holds whoever else does (holding), what cutting a
// reference would free (retain, dominance), and paths to objects (pathfind). It uses memory,
// symbols, runtime and heap.
//
// capture is this process's own snapshots: taking one and building its typed heap once (snapshot),
// and proofs that a bound holds without one: reachability in place (reach), new objects by counters
// (newborn), and what they prove (proof). It uses all wings but native.
//
// native is memory that C code has: the heap of glibc's malloc (nativeheap), the calls that
// allocated it (nativecalls), and the Go and C variables that refer to its blocks (nativeholders).
// It uses all other wings.
package engine
