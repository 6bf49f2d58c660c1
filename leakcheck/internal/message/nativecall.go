package message

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/refscan"
)

// A NativeCall is how native memory is allocated that grows, with how much of it comes with a call of op.
type NativeCall struct {
	Function      string                // "malloc"
	C, Go         []refscan.SourceFrame // what called it, innermost first: C code, and the Go code that called that
	Blocks, Bytes float64
}

// IsMapping reports whether memory is mapped, not allocated.
func (c *NativeCall) IsMapping() bool { return c.Function == "mmap" || c.Function == "mremap" }

// How much of the calls a message shows.
const (
	maxGroups  = 3 // of calls by the same Go code
	maxInGroup = 6
	maxInner   = 4 // C functions that one call has for itself
)

// NativeCalls lists calls, those that allocate most first. Calls that the same Go code makes are together: each has a
// line with the C functions of its own, and below is what they share.
func NativeCalls(calls []NativeCall, env *environ.Environment) []string {
	if len(calls) == 0 {
		return []string{"no call of malloc is behind it that could be recorded"}
	}
	groups := groupCalls(calls)
	lines := []string{"allocated by:"}
	for i, g := range groups {
		if i == maxGroups {
			lines = append(lines, fmt.Sprintf("… and by %s from elsewhere", textfmt.CountNoun(int64(len(groups)-i), "group")+" of calls"))
			break
		}
		lines = append(lines, g.lines(env)...)
	}
	return lines
}

// A callGroup is calls by the same Go code, or by C code alone that has the outermost function in common.
type callGroup struct {
	calls []NativeCall
	bytes float64
}

func groupCalls(calls []NativeCall) []*callGroup {
	var groups []*callGroup
	known := make(map[string]*callGroup)
	for _, c := range calls {
		c.C, c.Go = withoutGlue(c.C), withoutGlue(c.Go)
		key := fmt.Sprint(c.Go)
		if len(c.Go) == 0 && len(c.C) > 0 {
			key = c.C[len(c.C)-1].Func
		}
		g := known[key]
		if g == nil {
			g = &callGroup{}
			known[key] = g
			groups = append(groups, g)
		}
		g.calls = append(g.calls, c)
		g.bytes += c.Bytes
	}
	for _, g := range groups {
		sort.SliceStable(g.calls, func(i, j int) bool { return g.calls[i].Bytes > g.calls[j].Bytes })
	}
	sort.SliceStable(groups, func(i, j int) bool { return groups[i].bytes > groups[j].bytes })
	return groups
}

// lines has a line for each call, with the C functions that it has for itself, and then the code that all of them
// have in common, down to the operation that the test repeats.
func (g *callGroup) lines(env *environ.Environment) []string {
	inner, outer := g.shared()
	var lines []string
	for i := range g.calls {
		c := &g.calls[i]
		if i == maxInGroup {
			lines = append(lines, fmt.Sprintf("   … and %d more", len(g.calls)-i))
			break
		}
		var names []string
		if inner == 0 || len(g.calls) == 1 {
			names = append(names, c.Function)
		}
		own := c.C[inner : len(c.C)-outer]
		for _, f := range own {
			names = append(names, textfmt.Abridge(f.Func, MaxNameShown))
		}
		if over := len(names) - maxInner; over > 1 {
			names = append(names[:maxInner], fmt.Sprintf("… %d more", over))
		}
		lines = append(lines, "   "+c.rate()+": "+strings.Join(names, " <- "))
	}
	first := &g.calls[0]
	if inner > 0 && len(g.calls) > 1 {
		var names []string
		for _, f := range first.C[:inner] {
			names = append(names, f.Func)
		}
		lines = append(lines, "   all by "+strings.Join(append([]string{first.Function}, names...), " <- "))
	}
	lines = append(lines, elide(framesText(first.C[len(first.C)-outer:], env), 4, 1)...)
	return append(lines, elide(framesText(ownFrames(first.Go), env), 4, 4)...)
}

// shared is how many of the innermost and of the outermost C functions all calls of the group have. Of a single call
// all but the first few are outer ones.
func (g *callGroup) shared() (inner, outer int) {
	first := g.calls[0].C
	if len(g.calls) == 1 {
		return 0, max(0, len(first)-maxInner+1)
	}
	inner, outer = len(first), len(first)
	for _, c := range g.calls[1:] {
		n := 0
		for n < min(inner, len(c.C)) && first[n] == c.C[n] {
			n++
		}
		inner = n
		for n = 0; n < min(outer, len(c.C)-inner, len(first)-inner) && first[len(first)-1-n] == c.C[len(c.C)-1-n]; {
			n++
		}
		outer = n
	}
	return inner, outer
}

// withoutGlue leaves out what cgo puts between C and Go.
func withoutGlue(frames []refscan.SourceFrame) []refscan.SourceFrame {
	return slices.DeleteFunc(slices.Clone(frames), func(f refscan.SourceFrame) bool {
		return f.Func == "runtime.cgocall" || strings.HasPrefix(f.Func, "_cgo_") && strings.Contains(f.Func, "_Cfunc_")
	})
}

func framesText(frames []refscan.SourceFrame, env *environ.Environment) []string {
	lines := make([]string, len(frames))
	for i, f := range frames {
		lines[i] = "      " + frameText(f, env)
	}
	return lines
}

// elide leaves out the middle of what is longer than a head and a tail.
func elide(lines []string, head, tail int) []string {
	over := len(lines) - head - tail
	if over <= 1 { // a line that says so is no shorter
		return lines
	}
	out := append(slices.Clone(lines[:head]), fmt.Sprintf("      … %d more", over))
	return append(out, lines[len(lines)-tail:]...)
}

// rate is "+1.00 block/op (+1,024 B)".
func (c *NativeCall) rate() string {
	bytes := "+" + textfmt.ByteCount(int64(math.Round(c.Bytes))) + "/op"
	noun := "block"
	if c.IsMapping() {
		noun = "mapping"
	}
	rate := fmt.Sprintf("%+.2f", c.Blocks)
	switch rate {
	case "+0.00", "-0.00":
		return bytes
	case "+1.00":
	default:
		noun += "s"
	}
	return rate + " " + noun + "/op (" + bytes + ")"
}

// frameText is a function with its place.
func frameText(f refscan.SourceFrame, env *environ.Environment) string {
	s := textfmt.Abridge(symbol.Unescape(f.Func), MaxNameShown)
	if at := env.Place(f.File, f.Line); at != "" {
		s += " (" + at + ")"
	}
	return s
}
