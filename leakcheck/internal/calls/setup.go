package calls

import (
	"context"
	"io"
	"time"

	"github.com/leakgate/leakgate/leakcheck/internal/environ"
)

// A Setup is what a Runner needs to know.
type Setup struct {
	Op   *Op
	Time environ.Budget
	Test string // its name

	Sleep     func(time.Duration)
	AwaitIdle func(over func() bool) bool // waits until no goroutine runs, or over returns true, and reports whether none runs
	Timers    TimersFunc                  // nil: they are unknown
	TimerWait time.Duration               // how long timers are waited for that calls have set
	// TimersPerCall is how many timers each call has set, on average, if they are waited for.
	TimersPerCall float64

	Resources bool // this process's resources can be read
	Elsewhere bool // calls change another process

	Note  func(string) // on what calls leave that does not count
	Stuck func(*Stuck) // hears, in a goroutine of its own, that a call does not return; nil: nobody does
	Said  io.Writer    // where what piles up is said before op may end the process
}

// An End is why op is called no more.
type End int

const (
	GoesOn End = iota // it may be called again
	Failed            // op failed the test in its last call
	Late              // there is no time for another call and what follows it, or next to no memory
)

// A Timer is one that is set.
type Timer struct {
	Address uint64
	In      time.Duration // until it fires, 0 if it is due
	Repeats bool
}

// TimersFunc calls visit for each timer that is set.
type TimersFunc = func(ctx context.Context, visit func(Timer))

// A Stuck is a call that does not return.
type Stuck struct {
	Call   int64 // its number, from 1
	Since  time.Duration
	Header string // how the stack trace of its goroutine begins: "goroutine 7 "
	Left   string // what the calls before have left, "" if nothing
}
