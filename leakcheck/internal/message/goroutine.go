package message

import (
	"fmt"
	"path/filepath"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/refscan"
)

// maxOrigins is how many origins of goroutines, or places where they stand, a message shows.
const maxOrigins = 5

// origin says where goroutines come from: "started in app.worker, created by app.NewPool
// (pool.go:31)".
func origin(c *goroutine.Crew, env *environ.Environment) string {
	s := "started in " + textfmt.Abridge(c.Entry, MaxNameShown)
	if c.CreatedBy != "" {
		s += ", created by " + textfmt.Abridge(c.CreatedBy, MaxNameShown)
		if at := env.Place(c.File, c.Line); at != "" {
			s += " (" + at + ")"
		}
	}
	return s
}

// stateText says what goroutines wait for or do, and in which function of the program: "chan
// receive in app.worker (pool.go:40)".
func stateText(c *goroutine.Crew, env *environ.Environment) string {
	for _, f := range c.Frames() {
		calls := append(f.Inlined[:len(f.Inlined):len(f.Inlined)], refscan.InlinedCall{Func: f.Func, File: f.File, Line: f.Line})
		for _, call := range calls {
			if pkg := symbol.Package(call.Func); !goroutine.IsInner(pkg) {
				return fmt.Sprintf("%s in %s (%s)", c.State, textfmt.Abridge(symbol.Unescape(call.Func), MaxNameShown), env.Place(call.File, call.Line))
			}
		}
	}
	return c.State
}

// origins lists where goroutines come from and where they stand, in their order.
func origins(all goroutine.Census, env *environ.Environment) []string {
	var lines []string
	shown := int64(0)
	total := int64(0)
	for i, c := range all {
		total += c.Count
		if i < maxOrigins {
			shown += c.Count
			lines = append(lines,
				fmt.Sprintf("%s %s", textfmt.CountNoun(c.Count, "goroutine"), origin(c, env)),
				fmt.Sprintf("   %s; stack %s", stateText(c, env), textfmt.ByteCount(c.Stack)))
		}
	}
	if total > shown {
		lines = append(lines, "and "+textfmt.CountNoun(total-shown, "goroutine")+" more")
	}
	return lines
}

// frameTrace shows the frames of the first goroutines, which have the most stack, and the largest
// of these frames. It lists the other goroutines below.
func frameTrace(all goroutine.Census, p naming.Pattern, env *environ.Environment) []string {
	if len(all) == 0 {
		return nil
	}
	c := all[0]
	frames := c.Below(p)
	lines := append(largestLine(goroutine.Largest(frames), c.Count, env), textfmt.CountNoun(c.Count, "goroutine")+" "+origin(c, env), "   "+stateText(c, env), "")
	lines = append(lines, drawFrames(frames, c.Count, env)...)
	if len(all) > 1 {
		lines = append(lines, "", "besides:")
		lines = append(lines, origins(all[1:], env)...)
	}
	return lines
}

func largestLine(f refscan.StackFrame, goroutines int64, env *environ.Environment) []string {
	s := fmt.Sprintf("the largest frame is that of %s (%s): %s", textfmt.Abridge(symbol.Unescape(goroutine.FrameFunction(f)), MaxNameShown),
		env.Place(f.File, f.StartLine), textfmt.ByteCount(f.Size))
	if goroutines > 1 {
		s += fmt.Sprintf(" in each of %s", textfmt.CountNoun(goroutines, "goroutine"))
	}
	return []string{s}
}

// A drawnFrame is a line of a stack: a frame, or several of one function in a row.
type drawnFrame struct {
	f     refscan.StackFrame
	count int64
	bytes int64
}

// drawFrames draws frames from the outermost in, with the size of each in one goroutine and in all.
func drawFrames(frames []refscan.StackFrame, goroutines int64, env *environ.Environment) []string {
	var drawn []drawnFrame
	for i := len(frames) - 1; i >= 0; i-- {
		f := frames[i]
		if n := len(drawn); n > 0 && drawn[n-1].f.Func == f.Func {
			drawn[n-1].count++
			drawn[n-1].bytes += f.Size
			continue
		}
		drawn = append(drawn, drawnFrame{f, 1, f.Size})
	}
	lines := []string{"     frame         all"}
	left := max(0, len(drawn)-maxTraceLines)
	depth := 0
	add := func(figures, text string) {
		if depth > 0 {
			text = Under(depth-1, text)
		}
		lines = append(lines, figures+text)
		depth++
	}
	for i, d := range drawn {
		switch {
		case left > 0 && i == maxTraceLines/2:
			add(noFigures, "… "+textfmt.CountNoun(int64(left), "frame")+" more")
		case left == 0 || i < maxTraceLines/2 || i >= maxTraceLines/2+left:
			add(fmt.Sprintf("%10s  %10s  ", textfmt.ByteCount(d.bytes), textfmt.ByteCount(d.bytes*goroutines)), d.text(env))
		}
	}
	return lines
}

func (d drawnFrame) text(env *environ.Environment) string {
	s := naming.ShortName(symbol.Unescape(goroutine.FrameFunction(d.f)))
	if at := env.Place(filepath.Base(d.f.File), d.f.Line); at != "" {
		s += " (" + at + ")"
	}
	if d.count > 1 {
		s += ", " + textfmt.CountNoun(d.count, "frame")
	}
	if names := inlinedNames(d.f); names != "" {
		s += ", with " + names + " inlined"
	}
	return textfmt.Abridge(s, MaxNameShown)
}

// inlinedNames lists the program's functions that are inlined where a frame stands. The frame's
// size includes their variables.
func inlinedNames(f refscan.StackFrame) string {
	var names []string
	for i := len(f.Inlined) - 1; i >= 0; i-- {
		name := symbol.Unescape(f.Inlined[i].Func)
		if name != symbol.Unescape(goroutine.FrameFunction(f)) && !goroutine.IsInner(symbol.Package(name)) {
			names = append(names, naming.ShortName(name))
		}
	}
	return strings.Join(names, ", ")
}

// explainLeaked lists leaked goroutines by their origin and by where they wait, those that keep the
// most bytes first.
func explainLeaked(leaked []*refscan.LeakedGoroutine, env *environ.Environment) []string {
	type gang struct {
		*goroutine.Crew
		objects, bytes int64
	}
	index := make(map[string]*gang)
	var gangs []*gang
	for _, l := range leaked {
		c := goroutine.TakeCensus([]*refscan.GoroutineStack{l.GoroutineStack})[0]
		key := origin(c, env) + "\x00" + stateText(c, env)
		g := index[key]
		if g == nil {
			g = &gang{Crew: c}
			g.Count, g.Stack = 0, 0
			index[key] = g
			gangs = append(gangs, g)
		}
		g.Count++
		g.Stack += l.Size()
		g.objects += l.HeapObjects
		g.bytes += l.HeapBytes
	}
	sort.SliceStable(gangs, func(i, j int) bool { return gangs[i].Stack+gangs[i].bytes > gangs[j].Stack+gangs[j].bytes })
	var lines []string
	for i, g := range gangs {
		if i == maxOrigins {
			lines = append(lines, fmt.Sprintf("and more at %s", textfmt.CountNoun(int64(len(gangs)-i), "other place")))
			break
		}
		lines = append(lines, textfmt.CountNoun(g.Count, "goroutine")+" "+origin(g.Crew, env), "   "+stateText(g.Crew, env)+": "+whyLeaked(g.State),
			fmt.Sprintf("   kept alive: %s of stack and %s, %s of heap", textfmt.ByteCount(g.Stack), textfmt.CountNoun(g.objects, "object"), textfmt.ByteCount(g.bytes)))
	}
	return lines
}

// whyLeaked says why nothing ends a wait.
func whyLeaked(state string) string {
	what := "what it waits for"
	switch {
	case strings.Contains(state, "nil chan"):
		return "a nil channel is never ready"
	case strings.Contains(state, "no cases"):
		return "an empty select never ends"
	case state == "coroutine":
		return "nothing that can still run reaches the functions next and stop that iter.Pull returned; usual cause: stop is not called"
	case strings.HasPrefix(state, "chan "):
		what = "the channel"
	case strings.HasPrefix(state, "select"):
		what = "its channels"
	case strings.HasPrefix(state, "sync."):
		what, _, _ = strings.Cut(strings.TrimPrefix(state, "sync."), ".")
		what = "the " + what
	}
	return "no variable of the program and no goroutine that can still run reaches " + what
}

// explainLines shows the goroutines from which golden-file lines were measured, nil if the lines
// are not about goroutines.
func explainLines(all goroutine.Census, lines []golden.Measurement, env *environ.Environment) []string {
	var found goroutine.Census
	frame := ""
	for _, m := range lines {
		for _, c := range all {
			if strings.HasPrefix(m.Path, goroutine.StackLine) && c.FrameOf(m.Path) != nil {
				frame = m.Path
				found = append(found, c)
			} else if line := c.CountLine(); line.Path == m.Path && line.Type == m.Type {
				found = append(found, c)
			}
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].Count > found[j].Count })
	if frame == "" {
		return origins(found, env)
	}
	c := found[0]
	return append(append(largestLine(*c.FrameOf(frame), c.Count, env), origins(found, env)...),
		append([]string{""}, drawFrames(goroutine.WrittenFrames(c.Frames()), c.Count, env)...)...)
}

// explainGoroutines shows which goroutines a finding is about.
func explainGoroutines(f *check.Finding, env *environ.Environment) []string {
	switch {
	case f.Leaked != nil:
		return explainLeaked(f.Leaked, env)
	case f.Frames != nil:
		return frameTrace(f.Crews, *f.Frames, env)
	}
	return origins(f.Crews, env)
}
