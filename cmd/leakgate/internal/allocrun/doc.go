// Package allocrun says what programs allocate, by Go type and by line. It runs the tests and
// benchmarks of a package so that each of their allocations is known: by type from the execution
// tracer, and by the stack that made it from the memory profiler, both in one process. Of a process
// that runs already, it reads what the process's own memory profiler records meanwhile.
package allocrun
