// Package goroutine counts goroutines by where they come from and stand: those of a snapshot, and
// those of stack traces, of which it knows why they pile up.
package goroutine

import (
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/refscan"
)

// IsInner reports whether a package's functions only implement a goroutine's wait, and do not say
// where it waits.
func IsInner(pkg string) bool {
	return pkg == "runtime" || pkg == "sync" || pkg == "iter" || strings.HasPrefix(pkg, "internal/")
}

// Largest returns the largest of some frames.
func Largest(frames []refscan.StackFrame) refscan.StackFrame {
	most := frames[0]
	for _, f := range frames {
		if f.Size > most.Size {
			most = f
		}
	}
	return most
}

// A Crew is the goroutines of one origin with the same stack trace.
type Crew struct {
	Entry     string // the function that they started in, as the source has it: see StartOf
	started   string // the same as the runtime has it: perhaps a wrapper
	spawned   bool   // one of spawners started them
	CreatedBy string // the function with the go statement, "" for the main goroutine
	File      string // of the go statement
	Line      int
	State     string // "chan receive", "running"
	Trace     *refscan.StackTrace
	self      bool // it took the snapshot

	Count int64
	Stack int64 // bytes of all, used or not
}

// A Census is all goroutines but the runtime's and the tool's own.
type Census []*Crew

func TakeCensus(goroutines []*refscan.GoroutineStack) Census {
	index := make(map[Crew]*Crew)
	var all Census
	for _, g := range goroutines {
		if g.System || symbol.IsTool(symbol.Package(g.Entry)) {
			continue
		}
		key := Crew{
			started: symbol.Unescape(g.Entry), CreatedBy: symbol.Unescape(g.CreatedBy),
			File: g.CreatedFile, Line: g.CreatedLine, State: g.State, Trace: g.Trace, self: g.Self,
		}
		key.Entry, key.spawned = StartOf(g)
		if g.WaitReason != "" {
			key.State = g.WaitReason
		}
		c := index[key]
		if c == nil {
			c = &Crew{}
			*c = key
			index[key] = c
			all = append(all, c)
		}
		c.Count++
		c.Stack += g.Size()
	}
	return all
}

// spawners start a goroutine for a function that they are given.
var spawners = []string{
	"sync.(*WaitGroup).Go", errgroup + ".(*Group).Go", errgroup + ".(*Group).TryGo",
	"runtime.corostart", "iter.Pull", "iter.Pull2",
}

// StartOf returns the function that a goroutine runs, as the source has it: the function of the go
// statement, in place of which the runtime knows a wrapper if it has arguments, or the function
// that a spawner was given.
func StartOf(g *refscan.GoroutineStack) (function string, spawned bool) {
	frames := WrittenFrames(g.Trace.Frames)
	for i := len(frames) - 1; i >= 0; i-- {
		f := frames[i]
		if f.Wrapper && len(f.Inlined) == 0 {
			continue
		}
		name := symbol.Unescape(FrameFunction(f))
		source, _ := SourceName(name)
		if source, _, _ = strings.Cut(source, "["); slices.Contains(spawners, source) { // without type arguments
			spawned = true
			continue
		}
		if spawned && IsInner(symbol.Package(name)) {
			break // the goroutine is about to end
		}
		return name, spawned
	}
	return symbol.Unescape(g.Entry), false
}

// WrittenFrames leaves out the outermost frames that are not in the source: runtime.goexit, to
// which every goroutine returns at its end, and the wrapper of a go statement.
func WrittenFrames(frames []refscan.StackFrame) []refscan.StackFrame {
	for n := len(frames); n > 0; n-- {
		if f := frames[n-1]; f.Func != "runtime.goexit" && (!f.Wrapper || len(f.Inlined) > 0) {
			return frames[:n]
		}
	}
	return nil
}

// FrameFunction returns the function that a frame belongs to: for a wrapper, which is not in the
// source, the function that was inlined into it.
func FrameFunction(f refscan.StackFrame) string {
	if n := len(f.Inlined); f.Wrapper && n > 0 {
		return f.Inlined[n-1].Func
	}
	return f.Func
}

// Frames returns the frames, innermost first. For the goroutine that took the snapshot it leaves
// out the frames of this tool and of what this called.
func (c *Crew) Frames() []refscan.StackFrame {
	frames := c.Trace.Frames
	if !c.self {
		return frames
	}
	for i := len(frames) - 1; i >= 0; i-- {
		if symbol.IsTool(symbol.Package(frames[i].Func)) {
			return frames[i+1:]
		}
	}
	return frames
}

// IsAt reports whether a pattern matches the goroutines' origin: the function that they started in,
// or the one that created them.
func (c *Crew) IsAt(p naming.Pattern) bool {
	return p.MatchOrigin(c.Entry, c.started, c.CreatedBy)
}

// matchesFrame reports whether a pattern matches the function of a frame, or one inlined into it.
func matchesFrame(p naming.Pattern, f refscan.StackFrame) bool {
	for _, in := range f.Inlined {
		if p.MatchPrefix(symbol.Unescape(in.Func)) {
			return true
		}
	}
	return p.MatchPrefix(symbol.Unescape(f.Func))
}

// Below returns the outermost frame that a pattern matches with all that it called, innermost
// first; nil if there is none.
func (c *Crew) Below(p naming.Pattern) []refscan.StackFrame {
	frames := c.Frames()
	for i := len(frames) - 1; i >= 0; i-- {
		if matchesFrame(p, frames[i]) {
			return frames[:i+1]
		}
	}
	return nil
}

func SizeOf(frames []refscan.StackFrame) int64 {
	n := int64(0)
	for _, f := range frames {
		n += f.Size
	}
	return n
}

// GoroutinesAt counts the goroutines whose origin a pattern matches.
func (all Census) GoroutinesAt(p naming.Pattern) int64 { return all.At(p).Count() }

// At returns the goroutines whose origin a pattern matches.
func (all Census) At(p naming.Pattern) Census {
	return all.where(func(c *Crew) bool { return c.IsAt(p) })
}

// Count returns how many goroutines there are.
func (all Census) Count() (n int64) {
	for _, c := range all {
		n += c.Count
	}
	return n
}

// Inside returns the goroutines that are in a function which a pattern matches, and whose origin it
// does not match. It leaves out the main goroutine and those of package testing, which run tests.
func (all Census) Inside(p naming.Pattern) Census {
	return all.With(p).where(func(c *Crew) bool {
		return !c.IsAt(p) && c.CreatedBy != "" && symbol.Package(c.started) != "testing"
	})
}

// With returns the goroutines with frames that a pattern matches.
func (all Census) With(p naming.Pattern) Census {
	return all.where(func(c *Crew) bool { return c.Below(p) != nil })
}

func (all Census) where(keep func(*Crew) bool) (found Census) {
	for _, c := range all {
		if keep(c) {
			found = append(found, c)
		}
	}
	return found
}

// StackAt sums up the stack memory of the frames that a pattern matches, with all that they called,
// and the goroutines that have them.
func (all Census) StackAt(p naming.Pattern) (goroutines, bytes int64) {
	found := all.With(p)
	for _, c := range found {
		bytes += c.Count * SizeOf(c.Below(p))
	}
	return found.Count(), bytes
}

// SourceName returns the declared function that a function is, or is a closure of: numbers of
// closures change with code beside them, and with inlining.
func SourceName(function string) (name string, closure bool) {
	for i := len(symbol.Package(function)); i < len(function); i++ {
		if rest := function[i:]; strings.HasPrefix(rest, ".func") && len(rest) > 5 && isDigit(rest[5]) ||
			strings.HasPrefix(rest, ".gowrap") || strings.HasPrefix(rest, "-range") {
			return function[:i], true
		}
	}
	return function, false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
