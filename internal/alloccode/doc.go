// Package alloccode tells the Go type that a call allocates from the machine code before the call:
// the memory profiler knows stacks and no types.
//
// The compiler passes the runtime the address of a type's descriptor in a register that the calling
// convention fixes (go1.26, go1.27: runtime/malloc.go, runtime/slice.go, src/internal/abi/abi_generic.go).
// That register is followed backwards from the call, over moves, spills to the stack and loads
// from static dictionaries of generic functions, and into the caller where it came as an argument.
// All paths have to agree, and the descriptor has to be one of the program's table of types; else
// the type is not known. Programs of amd64 and arm64 are read, running ones and files.
package alloccode
