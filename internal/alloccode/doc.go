// Package alloccode finds the Go type that a call allocates in the machine code before the call:
// the memory profiler records stacks, and no types.
//
// The compiler passes the runtime the address of a type's descriptor in a register that the calling
// convention fixes (go1.26, go1.27: runtime/malloc.go, runtime/slice.go,
// src/internal/abi/abi_generic.go). The package follows that register backwards from the call, over
// moves, spills to the stack and loads from static dictionaries of generic functions, and into the
// caller if it came as an argument. All paths have to agree, and the descriptor has to be in the
// program's table of types; else the type is not known. It reads programs of amd64 and arm64,
// running ones and files.
package alloccode
