// Package alloctrace reads the allocations of a program from its execution trace: how many objects
// of each type a goroutine, and those that it started, allocated between two marks.
//
// The runtime writes an event for each allocation if GODEBUG has traceallocfree=1 when a trace
// starts (go1.23 to go1.27, runtime/traceallocfree.go, runtime/tracetype.go; the events' arguments
// are those of internal/trace/tracev2/spec.go). The format is the runtime's own and may change:
// anything that this package does not know is an error, never a wrong figure.
package alloctrace
