// Package native tests what is said of C's heap against mallinfo2(3), in programs that are built in
// different ways. It has its own folder since it takes cgo.
package native
