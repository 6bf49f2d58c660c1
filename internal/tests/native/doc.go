// Package native compares leakgate's figures of C's heap with mallinfo2(3), in programs that are
// built in different ways. It has its own folder since it needs cgo.
package native
