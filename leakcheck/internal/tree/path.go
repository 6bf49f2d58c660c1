package tree

import (
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/refscan"
)

// RootOfPath returns the root of a path to an object as a Branch, for the functions that render
// messages.
func RootOfPath(p refscan.RetainingPath) *Branch {
	root := p.Root
	return &Branch{Name: symbol.Unescape(p.Name), Path: symbol.Unescape(p.Name), Typ: naming.CleanType(p.Type), Root: &root}
}

// TraceOfPath returns a path to an object as a Trace.
func TraceOfPath(p refscan.RetainingPath) *Trace {
	b := RootOfPath(p)
	t := &Trace{Branches: []*Branch{b}}
	for _, step := range p.Steps {
		if step.Name == "" { // the variable itself
			continue
		}
		next := &Branch{Name: symbol.Unescape(symbol.FoldPath(step.Name)), Typ: naming.CleanType(step.Type), Root: b.Root, Parent: b}
		next.Path = symbol.JoinPath(b.Path, next.Name)
		b.Children = []*Branch{next}
		b = next
		t.Branches = append(t.Branches, b)
	}
	return t
}
