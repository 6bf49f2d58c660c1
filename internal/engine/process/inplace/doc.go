// Package inplace takes a consistent image of the running Go process without a second process: it
// copies the memory while no Go code runs. It serves small heaps, for which a copy takes less time
// than a fork, and systems that refuse the system calls of package freeze, a fork above all.
//
// # Why nothing changes meanwhile
//
// The caller has the only right to run Go code (runtime.GOMAXPROCS(1), package freeze) and pins it
// (runtime.procPin): while a thread has locks, the runtime does not preempt it (go1.26 and go1.27
// runtime/preempt.go, canPreemptM), and no other thread gets the only P. Threads that return from a
// system call, or that enter from C, wait for the P. A collection needs the world to stop, which
// waits for the caller. After the caller is pinned, it checks GOMAXPROCS again: a change of it
// takes a stop of the world, too.
//
// What goes on beside a fork (package freeze) goes on beside a copy, too, and for longer: system
// calls that write to buffers, the network poller and the monitor thread, signal handlers, C code.
//
// While it is pinned the caller must not block, allocate, or make a system call that the scheduler
// knows of. So the package walks through the process's memory three times. The first walk measures
// how much there is. Then the caller is pinned once more for the other two: one marks the pages
// that the copy needs, which the kernel then provides, and one copies. A walk reads only memory
// that the runtime's own records say is in use, so that it can be read: a fault there would end the
// process.
//
// # What is copied
//
// The copy has the heap's spans that may hold pointers, and spans of small objects without
// pointers; goroutines' stacks; free stacks, whose links lie in them; variables; the records that
// the runtime allocates outside of the heap; mark bits. Constants are read where they are. The
// image has no other memory: an address outside of it does not exist. If the heap has large objects
// without pointers, that saves most of the memory.
package inplace
