package stackprof

import (
	"fmt"
	"io"
	"strings"

	"github.com/leakgate/leakgate/internal/pprofwire"
	"github.com/leakgate/leakgate/refscan"
)

// A Function is one line of a profile's table: the bytes of its own frames (Flat), those of its
// callees too (Cum), both of stack_total, and the number of goroutines that have it on their stack.
type Function = pprofwire.Function

// Top sums the profile up by function, the largest flat value first.
func (p *Profile) Top() []Function {
	var t pprofwire.FunctionTable
	newTree(p.Stacks).samples(func(n *node, _ []refscan.StackLabel) {
		var names []string
		for at := n; at.loc != nil; at = at.parent {
			for _, c := range at.loc.calls {
				names = append(names, c.Func)
			}
		}
		t.Add(names, n.total, n.goroutines)
	})
	return t.Functions()
}

// WriteText writes the profile as text: the sums, then the functions with the most stack memory, at
// most limit of them (all if limit is 0).
func (p *Profile) WriteText(w io.Writer, limit int) error {
	top := p.Top()
	s := p.Stacks
	var b strings.Builder
	var used, free int64
	for _, g := range s.Goroutines {
		used += g.Used()
		free += g.Free()
	}
	fmt.Fprintf(&b, "stack memory: %d bytes (heap %d, operating system %d, unattributed %d)\n",
		s.HeapBytes+s.OSBytes, s.HeapBytes, s.OSBytes, s.Unattributed)
	fmt.Fprintf(&b, "%12d bytes in %d goroutines: %d in use, %d free\n", used+free, len(s.Goroutines), used, free)
	for _, o := range s.Others {
		fmt.Fprintf(&b, "%12d bytes: %s (%d)\n", o.Bytes, o.Kind, o.Count)
	}
	fmt.Fprintf(&b, "world stopped for %s\n", s.Pause)
	for _, warning := range s.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", warning)
	}
	b.WriteString("\n")
	_ = writeTable(&b, top, limit) // a strings.Builder takes all
	_, err := io.WriteString(w, b.String())
	return err
}

// writeTable writes the first functions as a table, at most limit of them (all if limit is 0).
func writeTable(w io.Writer, top []Function, limit int) error {
	shown := top
	if limit > 0 && len(top) > limit {
		shown = top[:limit]
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%14s %14s %11s  %s\n", "flat bytes", "cum bytes", "goroutines", "function")
	for _, f := range shown {
		fmt.Fprintf(&b, "%14d %14d %11d  %s\n", f.Flat, f.Cum, f.Goroutines, f.Name)
	}
	if n := len(top) - len(shown); n > 0 {
		fmt.Fprintf(&b, "and %d more functions\n", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
