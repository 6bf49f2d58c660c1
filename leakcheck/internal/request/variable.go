package request

import (
	"go/token"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
)

// TypeCount returns a query for the number of objects of the bound's types. It returns nil if the
// bound is not on types, or is on what cutting their objects would free.
func (b *Bound) TypeCount() *proof.TypeCount {
	s := &b.Selector
	if !s.ByType() || s.Path.Special != "" || b.Cut.Given() {
		return nil
	}
	c := &proof.TypeCount{
		Is:         func(reference string) bool { return s.Types.Matches(naming.CleanType(reference)) },
		MaxObjects: orNone(b.MaxObjects), MaxBytes: orNone(b.MaxBytes),
	}
	if c.Name = s.Shown; s.Object != nil { // the compiler checks that the type exists; packages may share a short name
		c.Name, c.Known = s.Types.Exact(), true
	}
	return c
}

// orNone returns the bound, or -1 if there is none.
func orNone(most *int64) int64 {
	if most == nil {
		return -1
	}
	return *most
}

// Reach returns a query for the objects that the bound's package variable reaches. It returns nil
// if the bound is on something else, may be, or is not on the objects and bytes that are charged to
// the variable alone.
func (b *Bound) Reach() *proof.Reach {
	p := &b.Selector.Path
	if b.Selector.Kind != selectRoot || !p.Plain() || p.Special != "" || b.Cut.Given() {
		return nil
	}
	// With more than one dot it can be a variable of a function.
	pkg, ident, ok := strings.Cut(p.Text[strings.LastIndexByte(p.Text, '/')+1:], ".")
	if !ok || pkg == "" || !token.IsIdentifier(ident) {
		return nil
	}
	return &proof.Reach{Ident: ident, Is: p.MatchWhole, MaxObjects: orNone(b.MaxObjects), MaxBytes: orNone(b.MaxBytes)}
}
