package leakcheck

import (
	"fmt"

	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

// A GoroutineSelector selects the goroutines that a bound applies to. It becomes an Option with
// None, Max, NoneLeaked or Recorded.
type GoroutineSelector struct{ of request.GoroutineSelector }

// A StackSelector selects the stack memory that a bound applies to. It becomes an Option with
// MaxBytes or Recorded.
type StackSelector struct{ of request.GoroutineSelector }

// Goroutines selects goroutines by the function that they started in, or by the function with the
// go statement that created them: "example.com/app.(*Pool).run", "app.NewPool", "app.**" for all of
// a package. Closures belong to the function that they are written in. A function given to
// sync.WaitGroup.Go or errgroup.Group.Go counts as the one that the goroutine started in. Import
// paths may be shortened and wildcards are as for Root. The runtime's own goroutines never count,
// and Scope and Ignore have no effect.
//
// A pattern that no function of the program matches fails the test. So does, without wildcards, a
// function that goroutines are in, if none started there, and one in which none can start: neither
// it nor its closures have a go statement, no go statement names it, and nothing that may start it
// gets it as a func value. The message has the functions with go statements that it calls.
//
//	leakcheck.AssertRetained(t, leakcheck.Goroutines("app.NewPool").Max(4))
//
// An assertion with such bounds alone, or with those of Stack, freezes the process for a moment and
// reads stacks; it collects no garbage and scans no heap. A goroutine that is about to end has some
// tenths of a second for that.
func Goroutines(pattern string) GoroutineSelector {
	return GoroutineSelector{request.NewGoroutineSelector("Goroutines", pattern)}
}

// Stack selects stack memory by function: the frames of the functions that the pattern matches,
// with those of everything that they called, in all goroutines that run them at that moment. For
// the function that a goroutine started in that is all of the stack that is in use. A function that
// was inlined counts with the frame that it was inlined into. Patterns are as for Goroutines.
//
//	leakcheck.AssertRetained(t, leakcheck.Stack("app.(*Pool).run").MaxBytes(1<<20))
//
// The unused part of stacks does not count: it depends on what the goroutines did before, and the
// garbage collector shrinks it. Package stackprof shows it.
func Stack(pattern string) StackSelector {
	return StackSelector{request.NewGoroutineSelector("Stack", pattern)}
}

// None demands that there are no such goroutines.
func (s GoroutineSelector) None() Option {
	return newGoroutineBound(s.of, ".None()", request.GoroutineOption{Check: request.CheckCount})
}

// Max allows at most n such goroutines; with Since, n more than there were.
func (s GoroutineSelector) Max(n int64) Option {
	return newGoroutineBound(s.of, fmt.Sprintf(".Max(%d)", n), request.GoroutineOption{Check: request.CheckCount, Limit: n})
}

// MaxObjects is Max under its name before v1.0.
func (s GoroutineSelector) MaxObjects(n int64) Option {
	return newGoroutineBound(s.of, fmt.Sprintf(".MaxObjects(%d)", n), request.GoroutineOption{Check: request.CheckCount, Limit: n})
}

// NoneLeaked demands that none of the goroutines is blocked for ever: waiting for a channel,
// select, mutex, wait group or condition that no package variable and no goroutine that may still
// run reaches. The message says what each keeps alive. NoneLeaked scans the heap; see
// refscan.Snapshot.LeakedGoroutines, also for its limits.
func (s GoroutineSelector) NoneLeaked() Option {
	return newGoroutineBound(s.of, ".NoneLeaked()", request.GoroutineOption{Check: request.CheckLeaked})
}

// Recorded adds the number of the goroutines to the golden file, a line for each pair of the
// function that they started in and the function that created them:
//
//	4             0  goroutine:example.com/app.(*Pool).run      created by example.com/app.NewPool
//
// A goroutine that started in a closure has the name of the function with the go statement, and
// ".func".
func (s GoroutineSelector) Recorded() Option {
	return newGoroutineBound(s.of, ".Recorded()", request.GoroutineOption{Check: request.RecordCount})
}

// MaxBytes allows at most n bytes of stack; with Since, n more than there were.
func (s StackSelector) MaxBytes(n int64) Option {
	return newGoroutineBound(s.of, fmt.Sprintf(".MaxBytes(%d)", n), request.GoroutineOption{Check: request.CheckBytes, Limit: n})
}

// Recorded adds to the golden file the functions that take much stack, without the stack of their
// callees: a line for each function that has more than 6 KiB of a goroutine's stack, with the
// number of such goroutines:
//
//	4  262144~100%  stack:example.com/app.(*Pool).run                 frame
//
// Sizes vary with the Go version, the architecture and the race detector. So each is written as the
// power of two that is nearest by factor, and may double before the test fails. A large array that
// moves into a frame makes a new line, or more than doubles one.
func (s StackSelector) Recorded() Option {
	return newGoroutineBound(s.of, ".Recorded()", request.GoroutineOption{Check: request.RecordBytes})
}

// A goroutineBound is an Option about goroutines.
type goroutineBound struct{ of request.GoroutineOption }

func newGoroutineBound(s request.GoroutineSelector, method string, o request.GoroutineOption) Option {
	o.GoroutineSelector = s
	if s.Shown != "" {
		o.Written = s.Shown + method
	}
	return goroutineBound{o}
}

func (b goroutineBound) apply(r *request.Request) { r.LimitGoroutines(b.of) }

// String returns the option as it is written in a test.
func (b goroutineBound) String() string { return b.of.Written }
