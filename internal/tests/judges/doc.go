// Package judges compares what is ours with what others are known to do right: delve judges what
// leakgate finds about a process's variables, google/pprof our profiles, testify our assertions,
// and the zip files of modules the names of golden files. The golden files of AssertAllocs, in
// testdata/leakcheck, are judged by other builds and ways to run the same operations.
//
// The example of each idea that leakgate was founded on is in testdata/programs. leakgate and the
// tool that the idea came with look at the same process: goref at what keeps memory alive, the
// memory profiler at allocations, holmes at the spike of one garbage collection, the goroutine
// profile at stacks, and pprof at code that was made at run time. The figures of both are a table
// in doc/accuracy.md, which the tests write with -update.
package judges
