package leakcheck

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/leakgate/leakgate/refscan"
)

// goroutinesSeen is what one snapshot shows of goroutines.
type goroutinesSeen struct {
	stacks    *refscan.Stacks
	leaked    []*refscan.LeakedGoroutine
	functions func() []string // names of all functions of the program
	logs      []string
}

// readGoroutines reads the goroutines of a snapshot, or, without one, of a snapshot of its own.
func readGoroutines(s *refscan.Snapshot, all *goroutineOptions) (seen *goroutinesSeen, err error) {
	seen = &goroutinesSeen{}
	var logging sync.Mutex
	log := refscan.WithLog(func(format string, args ...any) {
		logging.Lock()
		defer logging.Unlock()
		seen.logs = append(seen.logs, fmt.Sprintf(format, args...))
	})
	search := all.leakSearch()
	switch {
	case s != nil:
		seen.stacks, err = s.Stacks()
	case search == nil:
		seen.stacks, err = refscan.CaptureStacks(log)
	default:
		observing.Lock()
		defer observing.Unlock()
		if s, err = refscan.Capture(log); err != nil {
			return nil, err
		}
		defer func() {
			if closeErr := s.Close(); err == nil {
				err = closeErr
			}
		}()
		seen.stacks, err = s.Stacks()
	}
	if err == nil && search != nil {
		seen.leaked, err = search(s)
	}
	if err != nil {
		return nil, err
	}
	seen.functions = seen.stacks.FuncNames
	return seen, nil
}

// A crew is goroutines of one origin that stand in one place.
type crew struct {
	entry     string // the function that they started in, as a person would say
	started   string // the same as the runtime says: perhaps a wrapper
	spawned   bool   // by a function that starts any function that it is given
	createdBy string // the function with the go statement, "" for the main goroutine
	file      string // of the go statement
	line      int
	state     string // "chan receive", "running"
	trace     *refscan.StackTrace
	self      bool // it took the snapshot

	count int64
	stack int64 // bytes of all, used or not
}

// A census is all goroutines but the runtime's and the tool's own.
type census []*crew

func takeCensus(goroutines []*refscan.GoroutineStack) census {
	index := make(map[crew]*crew)
	var all census
	for _, g := range goroutines {
		if g.System || isOwnPackage(packageOf(g.Entry)) {
			continue
		}
		key := crew{
			started: unescapePath(g.Entry), createdBy: unescapePath(g.CreatedBy),
			file: g.CreatedFile, line: g.CreatedLine, state: g.State, trace: g.Trace, self: g.Self,
		}
		key.entry, key.spawned = startOf(g)
		if g.WaitReason != "" {
			key.state = g.WaitReason
		}
		c := index[key]
		if c == nil {
			c = &crew{}
			*c = key
			index[key] = c
			all = append(all, c)
		}
		c.count++
		c.stack += g.Size()
	}
	return all
}

// spawners start a goroutine for a function that they are given.
var spawners = []string{
	"sync.(*WaitGroup).Go", "golang.org/x/sync/errgroup.(*Group).Go", "golang.org/x/sync/errgroup.(*Group).TryGo",
}

// startOf returns the function that goroutines run, as a person would say: that of the go statement, which the runtime
// knows a wrapper of if it has arguments, or the one that a spawner was given.
func startOf(g *refscan.GoroutineStack) (function string, spawned bool) {
	frames := writtenFrames(g.Trace.Frames)
	for i := len(frames) - 1; i >= 0; i-- {
		f := frames[i]
		if f.Wrapper && len(f.Inlined) == 0 {
			continue
		}
		name := unescapePath(frameFunction(f))
		if source, _ := sourceName(name); slices.Contains(spawners, source) {
			spawned = true
			continue
		}
		if spawned && isInner(packageOf(name)) {
			break // it is on its way out
		}
		return name, spawned
	}
	return unescapePath(g.Entry), false
}

// writtenFrames leaves out the outermost frames that nobody wrote: what every goroutine returns to at its end, and
// the wrapper of a go statement.
func writtenFrames(frames []refscan.StackFrame) []refscan.StackFrame {
	for n := len(frames); n > 0; n-- {
		if f := frames[n-1]; f.Func != "runtime.goexit" && (!f.Wrapper || len(f.Inlined) > 0) {
			return frames[:n]
		}
	}
	return nil
}

// frameFunction returns the function that a frame belongs to: of a wrapper, which nobody wrote, what was inlined
// into it.
func frameFunction(f refscan.StackFrame) string {
	if n := len(f.Inlined); f.Wrapper && n > 0 {
		return f.Inlined[n-1].Func
	}
	return f.Func
}

// frames returns the frames, innermost first. The goroutine that took the snapshot was in this package, which is not
// the program's doing.
func (c *crew) frames() []refscan.StackFrame {
	frames := c.trace.Frames
	if !c.self {
		return frames
	}
	for i := len(frames) - 1; i >= 0; i-- {
		if isOwnPackage(packageOf(frames[i].Func)) {
			return frames[i+1:]
		}
	}
	return frames
}

// isAt reports whether a pattern means the goroutines, by where they come from.
func (c *crew) isAt(p pattern) bool {
	return p.matchPrefix(c.entry) || p.matchPrefix(c.started) || c.createdBy != "" && p.matchPrefix(c.createdBy)
}

// matchesFrame reports whether a pattern means the function of a frame, or one inlined into it.
func matchesFrame(p pattern, f refscan.StackFrame) bool {
	for _, in := range f.Inlined {
		if p.matchPrefix(unescapePath(in.Func)) {
			return true
		}
	}
	return p.matchPrefix(unescapePath(f.Func))
}

// below returns the outermost frame that a pattern means with all that it called, innermost first; nil if there is none.
func (c *crew) below(p pattern) []refscan.StackFrame {
	frames := c.frames()
	for i := len(frames) - 1; i >= 0; i-- {
		if matchesFrame(p, frames[i]) {
			return frames[:i+1]
		}
	}
	return nil
}

func sizeOf(frames []refscan.StackFrame) int64 {
	n := int64(0)
	for _, f := range frames {
		n += f.Size
	}
	return n
}

// goroutinesAt counts the goroutines that a pattern means.
func (all census) goroutinesAt(p pattern) int64 {
	n := int64(0)
	for _, c := range all {
		if c.isAt(p) {
			n += c.count
		}
	}
	return n
}

// stackAt sums up the stack memory that a pattern means.
func (all census) stackAt(p pattern) (goroutines, bytes int64) {
	for _, c := range all {
		if frames := c.below(p); frames != nil {
			goroutines += c.count
			bytes += c.count * sizeOf(frames)
		}
	}
	return goroutines, bytes
}

// sourceName returns the declared function that a function is, or is a closure of: numbers of closures change with
// code beside them, and with inlining.
func sourceName(function string) (name string, closure bool) {
	slash := strings.LastIndexByte(function, '/') + 1
	for i := slash; i < len(function); i++ {
		if rest := function[i:]; strings.HasPrefix(rest, ".func") && len(rest) > 5 && isDigit(rest[5]) ||
			strings.HasPrefix(rest, ".gowrap") || strings.HasPrefix(rest, "-range") {
			return function[:i], true
		}
	}
	return function, false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
