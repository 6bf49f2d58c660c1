// Package stackprof tells where goroutine stack memory goes, as a pprof profile.
//
//	p, err := stackprof.Take()
//	if err != nil {
//		return err
//	}
//	_, err = p.WriteTo(file) // go tool pprof -http=: file
//
// No profile of the runtime explains stack memory (golang/go issue 66566). Here nothing is sampled:
// the process is frozen for a moment (see package refscan), every stack is walked, and every frame
// counts with its true size, which the compiler's tables give.
//
// # Reading the profile
//
// There are three sample types. stack_total/bytes is all stack memory. stack_inuse/bytes is the
// part of it that is in use: of a goroutine's stack, what lies above its stack pointer.
// goroutines/count is the number of goroutines, each counted at its innermost frame.
//
// A function's flat value is the size of its own frames, times the goroutines that have them. Its
// cumulative value is that of its callees too. A function that was inlined has no frame: its
// variables lie in the frame that it was inlined into, which is charged with them, so its flat
// value is 0.
//
// Some names with an underscore are no functions:
//
//   - runtime._FreeStack, below the first function of goroutines, is the part of their stacks that
//     is not in use. It is there, and not below the frame where a goroutine happens to stand now,
//     because it is not that frame's doing.
//   - runtime._StackBase, in the same place, are the words that every stack begins with (40 bytes
//     on amd64), and the frame of the wrapper (main.gowrap1) that the compiler makes for a go
//     statement with arguments.
//   - runtime._SystemGoroutines, at the root, holds the goroutines of the runtime itself.
//   - runtime._ThreadStacks, at the root, are the scheduler and signal stacks of threads (g0,
//     gsignal) and the one that fatal errors are reported on. What of them is used at the moment is
//     not known: all counts as in use.
//   - runtime._IdleStacks, at the root, are stacks that nobody uses: those of goroutines that
//     ended, in the caches of processors, and in the pool. The runtime gives them to new
//     goroutines, and returns most of them to the heap at a garbage collection.
//   - runtime._UnknownFrames is used stack that could not be walked, runtime._Unattributed memory
//     without a known owner. Neither should occur.
//
// The sum of stack_total is what runtime/metrics calls /memory/classes/heap/stacks:bytes plus
// /memory/classes/os-stacks:bytes, at the moment of the snapshot. It does not include the stacks of
// threads that the operating system or C allocated, as the runtime's figures do not.
//
// Stacks of more than 256 frames are folded, or a profile of deep recursion would be of quadratic
// size: a frame at a place that is on the stack already does not make the path longer. Flat and
// cumulative values stay exact.
//
// # What it cannot tell
//
// Why a stack is as large as it is: a goroutine that once called deep keeps the larger stack until
// a garbage collection finds less than a quarter of it in use, and a parked stack does not show how
// deep it was. A large runtime._FreeStack below a function says that its goroutines did so.
// "leakgate view -growth" finds calls that make stacks grow in a CPU profile, which samples them.
//
// What C code and the kernel use: frames end where Go's do.
//
// # Cost
//
// Take stops the world for as long as a fork takes, some milliseconds (Profile.Stacks.Pause). It
// copies the used part of every stack, needs neither a garbage collection nor a copy of the heap,
// and takes time in proportion to the number of frames. The program's debug information (DWARF)
// must be there, or what builds it again; see package refscan, also for the systems that are
// supported.
//
// Package stackhttp serves the profile over HTTP, and the command leakgate view shows it. In
// tests, leakcheck.Stack and leakcheck.Goroutines bound what is here. The guide is
// doc/stackprof.md.
package stackprof
