// Package allocrun runs the tests and benchmarks of a package so that each of their allocations is
// known: by Go type from the execution tracer, and by the stack that made it from the memory
// profiler, both in one process.
package allocrun
