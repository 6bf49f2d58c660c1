package leakcheck

import (
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/refscan"
)

// maxStackShown is how many functions of an allocation's stack a message shows.
const maxStackShown = 6

// allocatedAt says where most of what the last branch of a trace holds was allocated, if the memory profiler
// has recorded some of it: all, where the test runs with -memprofilerate=1.
func (t *trace) allocatedAt(env *environment) []string {
	b := t.last()
	if len(b.allocations) == 0 {
		return nil
	}
	recorded := int64(0)
	for _, a := range b.allocations {
		recorded += a.Objects
	}
	top := b.allocations[0]
	title := "allocated at"
	switch {
	case recorded < b.objects:
		title += fmt.Sprintf(" (%s of the %s that were sampled)", count(top.Objects), count(recorded))
	case len(b.allocations) > 1:
		title += fmt.Sprintf(" (%s of %s)", count(top.Objects), count(recorded))
	}
	return append([]string{"", title + ":"}, stackLines(top.Stack, env)...)
}

func stackLines(stack []refscan.SourceFrame, env *environment) []string {
	var lines []string
	stack = ownFrames(stack)
	for i, f := range stack {
		if i == maxStackShown && len(stack) > maxStackShown+1 {
			lines = append(lines, fmt.Sprintf("   … %d more", len(stack)-i))
			break
		}
		line := "   " + abridge(unescapePath(f.Func), maxNameShown)
		if at := env.place(f.File, f.Line); at != "" {
			line += " (" + at + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

// ownFrames leaves out what called the code under test: this package (AssertNoGrowth), and what called it.
func ownFrames(stack []refscan.SourceFrame) []refscan.SourceFrame {
	for i, f := range stack {
		if strings.HasPrefix(f.Func, ownModule+"leakcheck.") {
			return stack[:i]
		}
	}
	return stack
}
