package leakcheck

import (
	"fmt"

	"github.com/leakgate/leakgate/refscan"
)

// A GoroutineSelector says which goroutines a bound is for. It becomes an Option with None, MaxObjects, NoneLeaked or
// Recorded.
type GoroutineSelector struct{ goroutineSelector }

// A StackSelector says which stack memory a bound is for. It becomes an Option with MaxBytes or Recorded.
type StackSelector struct{ goroutineSelector }

type goroutineSelector struct {
	shown   string // as written in the test
	pattern pattern
	err     error
}

// Goroutines selects goroutines by the function that they started in, or by the function with the go statement that
// created them: "example.com/app.(*Pool).run", "app.NewPool", "app.**" for all of a package. Closures belong to the
// function that they are written in, and what sync.WaitGroup.Go and errgroup.Group.Go are given counts as what they
// start. Import paths may be shortened and wildcards are as for Root; a pattern that no
// function of the program matches fails the test. The runtime's own goroutines never count, and Scope and Ignore
// have no effect.
//
//	leakcheck.AssertRetained(t, leakcheck.Goroutines("app.NewPool").MaxObjects(4))
//
// An assertion with such bounds alone, or with those of Stack, freezes the process for a moment and reads stacks; it
// collects no garbage and scans no heap. A goroutine that is about to end has some tenths of a second for that.
func Goroutines(pattern string) GoroutineSelector {
	return GoroutineSelector{newGoroutineSelector("Goroutines", pattern)}
}

// Stack selects stack memory by function: the frames of the functions that the pattern matches, with those of
// everything that they called, in all goroutines that are in them now. For the function that a goroutine
// started in that is all of the stack that is in use. A function that was inlined counts with the frame that it
// was inlined into. Patterns are as for Goroutines.
//
//	leakcheck.AssertRetained(t, leakcheck.Stack("app.(*Pool).run").MaxBytes(1<<20))
//
// The unused part of stacks does not count: it depends on what the goroutines did before, and the garbage collector
// shrinks it. Package stackprof shows it.
func Stack(pattern string) StackSelector {
	return StackSelector{newGoroutineSelector("Stack", pattern)}
}

func newGoroutineSelector(function, text string) goroutineSelector {
	p, err := compilePathPattern(text)
	return goroutineSelector{shown: fmt.Sprintf("%s(%q)", function, text), pattern: p, err: err}
}

// None demands that there are no such goroutines.
func (s GoroutineSelector) None() Option {
	return s.option(".None()", goroutineOption{check: checkCount})
}

// MaxObjects allows at most n such goroutines; with Since, n more than there were.
func (s GoroutineSelector) MaxObjects(n int64) Option {
	return s.option(fmt.Sprintf(".MaxObjects(%d)", n), goroutineOption{check: checkCount, limit: n})
}

// NoneLeaked demands that none of the goroutines is blocked for ever: waiting for a channel, select, mutex, wait group or
// condition that no package variable and no goroutine that may still run reaches. The message says what each
// keeps alive. It scans the heap for that; see refscan.Snapshot.LeakedGoroutines, also for what it cannot see.
func (s GoroutineSelector) NoneLeaked() Option {
	return s.option(".NoneLeaked()", goroutineOption{check: checkLeaked, leaked: (*refscan.Snapshot).LeakedGoroutines})
}

// Recorded adds to the golden file how many of the goroutines there are, a line for each function that they
// started in and the one that created them:
//
//	4             0  goroutine:example.com/app.(*Pool).run             created by example.com/app.NewPool
//
// A goroutine that started in a closure has the name of the function with the go statement, and ".func".
func (s GoroutineSelector) Recorded() Option {
	return s.option(".Recorded()", goroutineOption{check: recordCount})
}

// MaxBytes allows at most n bytes of stack; with Since, n more than there were.
func (s StackSelector) MaxBytes(n int64) Option {
	return s.option(fmt.Sprintf(".MaxBytes(%d)", n), goroutineOption{check: checkBytes, limit: n})
}

// Recorded adds to the golden file which functions take much stack, without what they called: a line for each that has more
// than 6 KiB of a goroutine's stack, with the number of such goroutines:
//
//	4  262144~100%  stack:example.com/app.(*Pool).run                 frame
//
// Sizes vary with the Go version, the architecture and the race detector. So each is written as the power of two that
// is nearest, as a factor, and may double before the test fails; a large array that moves into a frame makes a new
// line, or more than doubles one.
func (s StackSelector) Recorded() Option {
	return s.option(".Recorded()", goroutineOption{check: recordBytes})
}

func (s goroutineSelector) option(method string, o goroutineOption) Option {
	o.goroutineSelector = s
	o.written = s.shown + method
	return o
}

// A goroutineOption is one option about goroutines.
type goroutineOption struct {
	goroutineSelector
	written string
	check   goroutineCheck
	limit   int64
	leaked  func(*refscan.Snapshot) ([]*refscan.LeakedGoroutine, error) // a function value: only NoneLeaked links the search
}

type goroutineCheck int

const (
	checkCount goroutineCheck = iota
	checkBytes
	checkLeaked
	recordCount
	recordBytes
)

func (o goroutineOption) apply(r *request) {
	switch {
	case o.shown == "":
		r.problem("a zero GoroutineSelector or StackSelector: start with Goroutines or Stack")
		return
	case o.err != nil:
		r.problem("%s: %v", o.shown, o.err)
		return
	case o.limit < 0:
		r.problem("%s: a bound cannot be negative", o.written)
		return
	}
	all, _ := r.goroutines.(*goroutineOptions)
	if all == nil {
		all = &goroutineOptions{read: readGoroutines}
		r.goroutines = all
	}
	all.list = append(all.list, o)
}

// String returns the option as it is written in a test.
func (o goroutineOption) String() string { return o.written }

// recorded reports whether the option is about the golden file.
func (o goroutineOption) recorded() bool { return o.check == recordCount || o.check == recordBytes }

// goroutineOptions are those of one assertion.
type goroutineOptions struct {
	list []goroutineOption
	read func(*refscan.Snapshot, *goroutineOptions) (*goroutinesSeen, error)
}

func (all *goroutineOptions) names() []string {
	var names []string
	for _, o := range all.list {
		names = append(names, o.written)
	}
	return names
}

func (all *goroutineOptions) bounded() bool {
	for _, o := range all.list {
		if !o.recorded() {
			return true
		}
	}
	return false
}

func (all *goroutineOptions) problems(r *request) []string {
	var problems []string
	for _, o := range all.list {
		switch {
		case o.recorded() && r.bounded():
			problems = append(problems, o.written+
				" beside a bound: it adds to a golden file, which is compared only where no bound is given; use two assertions")
		case o.check == checkLeaked && r.baseline != nil:
			problems = append(problems, o.written+
				" beside Since: a baseline does not say which goroutines were leaked; use two assertions, or a narrower pattern")
		}
	}
	if !r.needsHeap() && len(r.scope)+len(r.ignores) > 0 {
		problems = append(problems, "Scope and Ignore have no effect on goroutines and stacks; narrow the patterns")
	}
	return problems
}

// leakSearch returns how to find leaked goroutines, nil if no option needs it.
func (all *goroutineOptions) leakSearch() func(*refscan.Snapshot) ([]*refscan.LeakedGoroutine, error) {
	for _, o := range all.list {
		if o.leaked != nil {
			return o.leaked
		}
	}
	return nil
}
