// Package inplace takes a consistent image of the running Go process without a second process: it
// copies the memory while nothing of Go runs. It is for small heaps, where that takes less
// than a fork, and for systems that refuse what package freeze needs, a fork above all.
//
// # Why nothing changes meanwhile
//
// The caller has the only right to run Go code (runtime.GOMAXPROCS(1), package freeze) and pins it
// (runtime.procPin): while a thread has locks, the runtime does not preempt it (go1.26 and go1.27
// runtime/preempt.go, canPreemptM), and nobody else gets the only P. Threads that come back from a
// system call, or in from C, wait for it. A collection needs the world to stop, which waits for the
// caller. GOMAXPROCS is looked at once more when the caller is pinned: to change it takes a stop of
// the world, too.
//
// What goes on is what goes on beside a fork as well (package freeze), for longer: system calls
// that write to buffers, the network poller and the monitor thread, signal handlers, C code.
//
// While it is pinned the caller must not block, allocate, or make a system call that the scheduler
// knows of. So the process is walked through three times: to see how much there is; and pinned once
// more, to see which pages the copy needs, which the kernel then provides, and to copy. What is read
// is what the runtime's own records say is in use, so that it can be read: a fault there would end
// the process.
//
// # What is copied
//
// The spans of the heap that may hold pointers, and those of small objects without; goroutines'
// stacks; free stacks, whose links lie in them; variables; the records that the runtime allocates
// outside of the heap; mark bits. Constants are read where they are. Nothing else can be read of
// the image: an address outside of it is one that does not exist. Where the heap has large objects
// without pointers that saves most of the memory that there is.
package inplace
