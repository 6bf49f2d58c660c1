package message

import (
	"fmt"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// maxStackShown is how many functions of an allocation's stack a message shows.
const maxStackShown = 6

// AllocatedAt says where most objects of a branch were allocated, if the memory profiler records
// all allocations. Otherwise its records differ from run to run, and AllocatedAt returns nil.
func AllocatedAt(b *tree.Branch, of string, env *environ.Environment) []string {
	if !env.AllAllocations {
		return nil
	}
	return WhereAllocated(b.Allocations, b.Objects, of, env)
}

// WhereAllocated says where most of all objects were allocated, and of which type they are unless
// that is "". Objects that were allocated before the profiler recorded everything have no record. A
// record with a negative count is subtracted from the others.
func WhereAllocated(records []refscan.Allocation, all int64, of string, env *environ.Environment) []string {
	// Stacks that differ only in what called the code under test are added up.
	objects := make(map[string]int64)
	recorded := int64(0)
	for _, a := range records {
		objects[strings.Join(StackLines(a.Stack, env), "\n")] += a.Objects
		recorded += a.Objects
	}
	top := ""
	for lines, n := range objects {
		if n > objects[top] || n == objects[top] && lines < top {
			top = lines
		}
	}
	if objects[top] <= 0 {
		return nil
	}
	title := strings.TrimSpace(of + " allocated at")
	if all = max(recorded, all); objects[top] < all {
		title += fmt.Sprintf(" (%s of %s)", textfmt.Count(objects[top]), textfmt.Count(all))
	}
	return append([]string{"", title + ":"}, strings.Split(top, "\n")...)
}

// StackLines renders a stack, innermost first. Of a long stack it leaves out the functions of the
// standard library before the first function of the program, and the callers of that function.
func StackLines(stack []refscan.SourceFrame, env *environ.Environment) []string {
	stack = ownFrames(stack)
	over := max(0, len(stack)-maxStackShown)
	if over == 1 {
		over = 0 // the line that says so would be no shorter
	}
	program := slices.IndexFunc(stack, func(f refscan.SourceFrame) bool { return env.IsProgram(symbol.Package(f.Func)) })
	from := maxStackShown
	if over > 0 && program >= maxStackShown {
		from = min(maxStackShown-2, len(stack)-over)
		over = min(over, program-from)
	}
	var lines []string
	for i, f := range stack {
		switch {
		case over > 0 && i == from:
			lines = append(lines, fmt.Sprintf("   … %d more", over))
			continue
		case over > 0 && from < i && i < from+over:
			continue
		case len(lines) > maxStackShown:
			return append(lines, fmt.Sprintf("   … %d more", len(stack)-i))
		}
		line := "   " + textfmt.Abridge(symbol.Unescape(f.Func), MaxNameShown)
		if at := env.Place(f.File, f.Line); at != "" {
			line += " (" + at + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

// ownFrames leaves out the callers of the code under test: this tool (AssertNoGrowth), and what
// called it.
func ownFrames(stack []refscan.SourceFrame) []refscan.SourceFrame {
	for i, f := range stack {
		if symbol.IsTool(symbol.Package(f.Func)) {
			return stack[:i]
		}
	}
	return stack
}
