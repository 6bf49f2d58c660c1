package request

import (
	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/internal/symbol"
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
		Is:    func(reference string) bool { return s.Types.Matches(naming.CleanType(reference)) },
		Name:  s.Shown,
		Count: b.count(),
	}
	if s.Object != nil { // packages may share a short name
		c.Name = s.Types.Exact()
	} else if !s.Types.Pattern.Plain() { // closures, which the proof does not know, may match
		return nil
	}
	return c
}

func (b *Bound) count() proof.Count {
	return proof.Count{MaxObjects: orNone(b.MaxObjects), MaxBytes: orNone(b.MaxBytes)}
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
	if b.Selector.Kind != selectRoot && b.Selector.Kind != SelectPath || !p.Plain() || p.Special != "" || b.Cut.Given() {
		return nil
	}
	// With more than one dot it can be a variable of a function, or the path of a field.
	pkg, ident := symbol.Split(p.Text)
	if pkg == "" || !symbol.IsIdentifier(ident) {
		return nil
	}
	return &proof.Reach{Ident: ident, Is: p.MatchWhole, Count: b.count()}
}
