package leakcheck

import (
	"fmt"
	"path/filepath"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/refscan"
)

// maxOrigins is how many origins of goroutines, or places where they stand, a message shows.
const maxOrigins = 5

// origin says where goroutines come from: "started in app.worker, created by app.NewPool (pool.go:31)".
func (c *crew) origin(env *environment) string {
	s := "started in " + abridge(c.entry, maxNameShown)
	if c.createdBy != "" {
		s += ", created by " + abridge(c.createdBy, maxNameShown)
		if at := env.place(c.file, c.line); at != "" {
			s += " (" + at + ")"
		}
	}
	return s
}

// stands says what goroutines do, and in which of the program's functions: "chan receive in app.worker (pool.go:40)".
func (c *crew) stands(env *environment) string {
	for _, f := range c.frames() {
		calls := append(f.Inlined[:len(f.Inlined):len(f.Inlined)], refscan.InlinedCall{Func: f.Func, File: f.File, Line: f.Line})
		for _, call := range calls {
			if pkg := packageOf(call.Func); !isInner(pkg) {
				return fmt.Sprintf("%s in %s (%s)", c.state, abridge(unescapePath(call.Func), maxNameShown), env.place(call.File, call.Line))
			}
		}
	}
	return c.state
}

// isInner reports whether a package's functions are how a goroutine waits, not where.
func isInner(pkg string) bool {
	return pkg == "runtime" || pkg == "sync" || strings.HasPrefix(pkg, "internal/")
}

// origins lists where goroutines come from and where they stand, the most first.
func (all census) origins(env *environment) []string {
	var lines []string
	shown := int64(0)
	total := int64(0)
	for i, c := range all {
		total += c.count
		if i < maxOrigins {
			shown += c.count
			lines = append(lines,
				fmt.Sprintf("%s %s", countNoun(c.count, "goroutine"), c.origin(env)),
				fmt.Sprintf("   %s; stack %s", c.stands(env), byteCount(c.stack)))
		}
	}
	if total > shown {
		lines = append(lines, "and "+countNoun(total-shown, "goroutine")+" more")
	}
	return lines
}

// largest returns the largest of some frames.
func largest(frames []refscan.StackFrame) refscan.StackFrame {
	most := frames[0]
	for _, f := range frames {
		if f.Size > most.Size {
			most = f
		}
	}
	return most
}

// frameTrace shows the frames of the first goroutines, which have the most, and which of them is the largest.
func (all census) frameTrace(p pattern, env *environment) []string {
	if len(all) == 0 {
		return nil
	}
	c := all[0]
	frames := c.below(p)
	lines := append(largestLine(largest(frames), c.count, env), countNoun(c.count, "goroutine")+" "+c.origin(env), "   "+c.stands(env), "")
	lines = append(lines, drawFrames(frames, c.count, env)...)
	if len(all) > 1 {
		lines = append(lines, "", "besides:")
		lines = append(lines, all[1:].origins(env)...)
	}
	return lines
}

func largestLine(f refscan.StackFrame, goroutines int64, env *environment) []string {
	s := fmt.Sprintf("the largest frame is that of %s (%s): %s", abridge(unescapePath(frameFunction(f)), maxNameShown),
		env.place(f.File, f.StartLine), byteCount(f.Size))
	if goroutines > 1 {
		s += fmt.Sprintf(" in each of %s", countNoun(goroutines, "goroutine"))
	}
	return []string{s}
}

// A drawnFrame is a line of a stack: a frame, or several of one function in a row.
type drawnFrame struct {
	f     refscan.StackFrame
	count int64
	bytes int64
}

// drawFrames draws frames from the outermost in, with the size of each, and of it in all goroutines.
func drawFrames(frames []refscan.StackFrame, goroutines int64, env *environment) []string {
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
			text = under(depth-1, text)
		}
		lines = append(lines, figures+text)
		depth++
	}
	for i, d := range drawn {
		switch {
		case left > 0 && i == maxTraceLines/2:
			add(fmt.Sprintf("%24s", ""), "… "+countNoun(int64(left), "frame")+" more")
		case left == 0 || i < maxTraceLines/2 || i >= maxTraceLines/2+left:
			add(fmt.Sprintf("%10s  %10s  ", byteCount(d.bytes), byteCount(d.bytes*goroutines)), d.text(env))
		}
	}
	return lines
}

func (d drawnFrame) text(env *environment) string {
	s := shortName(unescapePath(frameFunction(d.f)))
	if at := env.place(filepath.Base(d.f.File), d.f.Line); at != "" {
		s += " (" + at + ")"
	}
	if d.count > 1 {
		s += ", " + countNoun(d.count, "frame")
	}
	if names := inlinedNames(d.f); names != "" {
		s += ", with " + names + " inlined"
	}
	return abridge(s, maxNameShown)
}

// inlinedNames lists what of the program's functions is inlined where a frame stands, whose variables its size includes.
func inlinedNames(f refscan.StackFrame) string {
	var names []string
	for i := len(f.Inlined) - 1; i >= 0; i-- {
		name := unescapePath(f.Inlined[i].Func)
		if name != unescapePath(frameFunction(f)) && !isInner(packageOf(name)) {
			names = append(names, shortName(name))
		}
	}
	return strings.Join(names, ", ")
}

// explainLeaked lists leaked goroutines by where they come from and wait, those that keep the most first.
func explainLeaked(leaked []*refscan.LeakedGoroutine, env *environment) []string {
	type gang struct {
		*crew
		objects, bytes int64
	}
	index := make(map[string]*gang)
	var gangs []*gang
	for _, l := range leaked {
		c := takeCensus([]*refscan.GoroutineStack{l.GoroutineStack})[0]
		key := c.origin(env) + "\x00" + c.stands(env)
		g := index[key]
		if g == nil {
			g = &gang{crew: c}
			g.count, g.stack = 0, 0
			index[key] = g
			gangs = append(gangs, g)
		}
		g.count++
		g.stack += l.Size()
		g.objects += l.HeapObjects
		g.bytes += l.HeapBytes
	}
	sort.SliceStable(gangs, func(i, j int) bool { return gangs[i].stack+gangs[i].bytes > gangs[j].stack+gangs[j].bytes })
	var lines []string
	for i, g := range gangs {
		if i == maxOrigins {
			lines = append(lines, fmt.Sprintf("and more at %s", countNoun(int64(len(gangs)-i), "other place")))
			break
		}
		lines = append(lines, countNoun(g.count, "goroutine")+" "+g.origin(env), "   "+g.stands(env)+": "+whyLeaked(g.state),
			fmt.Sprintf("   kept alive: %s of stack and %s, %s of heap", byteCount(g.stack), countNoun(g.objects, "object"), byteCount(g.bytes)))
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

// explainLines says who makes lines of a golden file, where they are about goroutines; else nothing.
func (all census) explainLines(lines []golden.Measurement, env *environment) []string {
	var found census
	frame := ""
	for _, m := range lines {
		for _, c := range all {
			if strings.HasPrefix(m.Path, stackLine) && c.frameOf(m.Path) != nil {
				frame = m.Path
				found = append(found, c)
			} else if line := c.countLine(); line.Path == m.Path && line.Type == m.Type {
				found = append(found, c)
			}
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].count > found[j].count })
	if frame == "" {
		return found.origins(env)
	}
	c := found[0]
	return append(append(largestLine(*c.frameOf(frame), c.count, env), found.origins(env)...),
		append([]string{""}, drawFrames(writtenFrames(c.frames()), c.count, env)...)...)
}

// frameOf returns the largest frame that a line of a golden file is about, nil if there is none.
func (c *crew) frameOf(path string) *refscan.StackFrame {
	var most *refscan.StackFrame
	frames := c.frames()
	for i := range frames {
		if frameLine(unescapePath(frameFunction(frames[i]))) == path && (most == nil || frames[i].Size > most.Size) {
			most = &frames[i]
		}
	}
	return most
}

func (s *goroutineSight) boundsFailure(traced int, env *environment) []string {
	var lines []string
	for _, f := range s.findings {
		if !f.broken {
			continue
		}
		lines = append(lines, "", f.shown, "    "+f.amount)
		if traced--; traced >= 0 {
			lines = append(lines, indent(f.explain(env))...)
		}
	}
	return lines
}
