// Package freeze takes a consistent image of the running Go process, and reads the image while the
// program goes on.
//
// Take reduces the program to one running goroutine, its caller, with runtime.GOMAXPROCS(1): every
// other goroutine then stands at a safe point or in a system call. A raw clone(2) copies the
// address space copy-on-write, and the program goes on at once. The child never runs Go code: it
// closes the descriptors it inherited. On request it writes its own memory, with pwrite(2), into a
// file that this process has mapped. So an address that cannot be read is an error number, not a
// crash, and no privilege (ptrace, Yama) is needed.
//
// # What stands still
//
// Go code stands still, except the caller. The following run on and may change memory while the
// kernel copies the page tables, so that the image may hold a part of their writes:
//   - system calls that other goroutines are in, as a read(2) that fills a buffer;
//   - threads that are about to return from a system call and wait for the right to run Go code.
//     From Go 1.26 on their goroutine is in status running already (runtime/proc.go, exitsyscall);
//   - the runtime's monitor thread (sysmon), which makes goroutines runnable;
//   - threads of C code.
//
// Memory mapped MAP_SHARED is not frozen: parent and child see the same pages.
//
// The garbage collector marks nothing at that point, because GOMAXPROCS waits for the end of a
// cycle. There are two exceptions, which the image shows (runtime.gcphase) and which a second Take
// overcomes: GOMAXPROCS was 1 before, so that nothing had to be stopped; or the caller was
// preempted just before the clone. Sweeping may be under way in any case.
//
// # The child
//
// The child is a process of its own with all signals blocked and no descriptors but two. It ends
// when Release or Close is called, and when this process ends, however that happens. It sends no
// SIGCHLD, and wait4(-1) does not see it unless called with __WALL or __WCLONE (under qemu-user,
// both do). It is the first that the kernel kills when memory runs out.
//
// linux/amd64 and linux/arm64 are supported. Elsewhere Take returns an error that wraps
// errors.ErrUnsupported.
package freeze
