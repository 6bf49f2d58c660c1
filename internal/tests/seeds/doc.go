// Package seeds builds the example of each idea that leakgate was founded on, and has leakgate and
// the tool that the idea came with look at the same process: goref at what keeps memory alive, the
// memory profiler at allocations, holmes at the spike of one garbage collection, the goroutine
// profile at stacks, and pprof at code that was made at run time. The figures of both are a table
// in doc/accuracy.md, which the tests write with -update.
package seeds
