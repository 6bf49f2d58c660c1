package request

import (
	"go/token"
	"strings"

	"github.com/leakgate/leakgate/refscan"
)

// Reach asks how much the package variable leads to that a bound is on. It returns nil where the
// bound is on something else, may be, or is not on the objects and bytes that are charged to the
// variable alone.
func (b *Bound) Reach() *refscan.Reach {
	p := &b.Selector.Path
	if b.Selector.Kind != selectRoot || !p.Plain() || p.Special != "" || b.Cut.Given() {
		return nil
	}
	// With more than one dot it can be a variable of a function.
	pkg, ident, ok := strings.Cut(p.Text[strings.LastIndexByte(p.Text, '/')+1:], ".")
	if !ok || pkg == "" || !token.IsIdentifier(ident) {
		return nil
	}
	r := &refscan.Reach{Ident: ident, Is: p.MatchWhole, MaxObjects: -1, MaxBytes: -1}
	if b.MaxObjects != nil {
		r.MaxObjects = *b.MaxObjects
	}
	if b.MaxBytes != nil {
		r.MaxBytes = *b.MaxBytes
	}
	return r
}
