package request

import (
	"fmt"

	"github.com/leakgate/leakgate/leakcheck/internal/naming"
)

// A GoroutineSelector selects the goroutines, or the stack frames, that an option is for.
type GoroutineSelector struct {
	Shown   string // as written in the test
	Pattern naming.Pattern
	err     error
}

func NewGoroutineSelector(function, text string) GoroutineSelector {
	p, err := naming.CompilePathPattern(text)
	return GoroutineSelector{Shown: fmt.Sprintf("%s(%q)", function, text), Pattern: p, err: err}
}

// A GoroutineOption is one option about goroutines.
type GoroutineOption struct {
	GoroutineSelector
	Written string
	Check   GoroutineQuestion
	Limit   int64
}

type GoroutineQuestion int

const (
	CheckCount GoroutineQuestion = iota
	CheckBytes
	CheckLeaked
	RecordCount
	RecordBytes
)

// LimitGoroutines adds an option about goroutines to a request.
func (r *Request) LimitGoroutines(o GoroutineOption) {
	switch {
	case o.Shown == "":
		r.Problem("a zero GoroutineSelector or StackSelector: start with Goroutines or Stack")
		return
	case o.err != nil:
		r.Problem("%s: %v", o.Shown, o.err)
		return
	case o.Limit < 0:
		r.Problem("%s: a bound cannot be negative", o.Written)
		return
	}
	r.Goroutines = append(r.Goroutines, o)
}

// Recorded reports whether the option adds lines to the golden file.
func (o GoroutineOption) Recorded() bool { return o.Check == RecordCount || o.Check == RecordBytes }
