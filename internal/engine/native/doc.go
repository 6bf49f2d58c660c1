// Package native is the wing of memory that C code has: the heap of glibc's malloc (nativeheap),
// the calls that allocated it (nativecalls), and the Go and C variables that refer to its blocks
// (nativeholders).
//
// It uses all other wings.
package native
