package leakcheck

import (
	"fmt"

	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

// A NativeSelector selects memory of C code. It becomes an Option with None, Max or MaxBytes.
type NativeSelector struct{ of request.ResourceOption }

// NativeMemory selects the blocks that C code has allocated with malloc and its kin and has not
// freed, of libraries as well: those that C.malloc, C.CString and C.CBytes return, and those that C
// code keeps for itself. Blocks that malloc keeps to hand out again, and memory that malloc and the
// loader have for threads, do not count. Sizes are those of malloc's chunks: 8 bytes more than
// asked for, rounded up to a multiple of 16.
//
//	leakcheck.AssertRetained(t, leakcheck.NativeMemory().MaxBytes(1<<20), leakcheck.Since(b))
//
// NativeMemory reads the heap of glibc, on linux/amd64 and linux/arm64, in about a millisecond for
// 10,000 blocks, without a preloaded library or a compiler. With other allocators and C libraries,
// -asan and -msan, the verdict is unknown. A program without a C library has no such memory. Scope
// and Ignore have no effect, except for Recorded.
func NativeMemory() NativeSelector {
	return NativeSelector{request.ResourceOption{Shown: "NativeMemory()", Kind: ledger.Native}}
}

// Recorded adds the holders of native memory to the golden file, a line for each path of Go objects
// and each C variable that leads to blocks, with the number and bytes of these blocks:
//
//	4  1184~100%  example.com/app.statements[*].c               native block
//
// A block that several holders lead to is counted once, at a path of Go's if there is one.
// Variables of the program's C code are "C.cache_head", those of a library "libfoo.so:cache_head".
// Blocks that nothing leads to are at "lost", without their number, since a stale word on a stack
// can hide some. Blocks that the C library keeps for itself, and blocks that only stacks, variables
// of threads or mapped memory lead to, have no line: they depend on the machine and on how many
// threads there are. Scope is for paths of Go alone. Bytes may double before the test fails.
//
// Such an assertion reads all memory that C code may write to, and takes about as long as two
// scans. If the holders cannot be found, the verdict is unknown, as for bounds. It cannot be
// combined with Since: a baseline does not know holders.
func (s NativeSelector) Recorded() Option {
	return setting(func(r *request.Request) {
		if s.of.Shown == "" {
			r.Problem("a zero NativeSelector: start with NativeMemory")
			return
		}
		r.Native = true
	})
}

// None demands that there is none; with Since, no more blocks than there were.
func (s NativeSelector) None() Option { return ResourceSelector(s).None() }

// Max allows at most n blocks; with Since, n more than there were.
func (s NativeSelector) Max(n int64) Option { return ResourceSelector(s).Max(n) }

// MaxBytes allows at most n bytes; with Since, n more than there were.
func (s NativeSelector) MaxBytes(n int64) Option {
	s.of.Kind = ledger.NativeBytes
	return ResourceSelector(s).bound(fmt.Sprintf(".MaxBytes(%d)", n), n)
}
