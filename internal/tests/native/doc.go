// Package native compares leakgate's figures of C's heap with mallinfo2(3), in programs that are
// built in different ways. Its C code, which allocates, is no test code since go test compiles no
// test files with cgo.
package native
