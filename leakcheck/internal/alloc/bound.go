package alloc

import (
	"fmt"

	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

// A Bound limits the allocations of one call of an operation, of a type or in all.
type Bound struct {
	Selector            *request.Selector // nil: all allocations
	MaxAllocs, MaxBytes *int64            // of one call
}

// String returns the bound as it is written in a test.
func (b *Bound) String() string {
	s := b.shown()
	if b.MaxAllocs != nil {
		s += fmt.Sprintf(".MaxAllocsPerOp(%d)", *b.MaxAllocs)
	}
	if b.MaxBytes != nil {
		s += fmt.Sprintf(".MaxBytesPerOp(%d)", *b.MaxBytes)
	}
	return s
}

func (b *Bound) shown() string {
	if b.Selector == nil {
		return "AllAllocs()"
	}
	return b.Selector.Shown
}

// recorded is the bound's name in records.
func (b *Bound) recorded() string {
	if b.Selector == nil {
		return b.shown()
	}
	return b.Selector.Record
}

// A Request holds the options of an assertion on allocations.
type Request struct {
	request.Calls
	Bounds []Bound
}

// Limit adds a bound.
func (r *Request) Limit(b Bound) {
	negative := func(n *int64) bool { return n != nil && *n < 0 }
	switch s := b.Selector; {
	case negative(b.MaxAllocs), negative(b.MaxBytes):
		r.Problem("%s: a bound cannot be negative", &b)
	case b.MaxAllocs == nil && b.MaxBytes == nil:
		r.Problem("%s: has neither MaxAllocsPerOp nor MaxBytesPerOp", b.shown())
	case s == nil || s.Err == nil && s.ByType() && untold(s) == "":
		r.Bounds = append(r.Bounds, b)
	case untold(s) != "":
		r.Problem("%s: the runtime does not say which allocations are %s; limit them with AllAllocs", s.Shown, untold(s))
	case s.Err != nil:
		r.Problem("%s: %v", s.Shown, s.Err)
	default:
		r.Problem("%s selects what is retained; allocations are told by their type: Type, TypeNamed or AllAllocs", s.Shown)
	}
}

// counts sums the rows that count for a bound.
func (b *Bound) counts(rows []*row) (sum row) {
	for _, r := range rows {
		if !b.in(r) {
			continue
		}
		sum.objects += r.objects
		sum.bytes += r.bytes
	}
	return sum
}

// in reports whether a row counts for a bound. A bound on []T counts objects of type [n]T, too: the
// compiler allocates so the array of a composite literal, and that of a variadic call (go1.26,
// go1.27: cmd/compile/internal/walk/complit.go, slicelit). A name with a star is also that of
// objects that are pointers, as tables have it: "*app.Session".
func (b *Bound) in(r *row) bool {
	switch {
	case r.runtime:
		return false
	case b.Selector == nil:
		return true
	}
	types := &b.Selector.Types
	return r.typed && (types.Matches(r.reference()) || types.Pointer && types.Matches(r.name) || r.slice != "" && types.Matches(r.slice) || b.ofShape(r))
}

// uncertainObjects returns how many objects that count for a bound may be something else, because
// their sizes are unknown, and how many others may be of the bound's type. All of these are counted
// as objects of their type, with its size, and not as arrays.
func (b *Bound) uncertainObjects(rows []*row) (counted, others int64) {
	for _, r := range rows {
		switch {
		case b.in(r):
			counted += r.unsized
		case b.in(r.twin()):
			others += r.unsized
		}
	}
	return counted, others
}

// excess returns how many objects, over all calls, may exceed a bound without breaking it.
// Allocations that happen once, such as by a map that grows or a pool after a collection, are not
// made by each call.
func excess(calls int, collected bool) int64 {
	if collected {
		return max(1, int64(calls)/2)
	}
	return max(1, int64(calls)/20)
}

// broken reports whether the given number of calls allocated more than the bound allows.
func (b *Bound) broken(sum row, calls int, slack int64) bool {
	n := int64(calls)
	return b.MaxAllocs != nil && sum.objects > *b.MaxAllocs*n+slack ||
		b.MaxBytes != nil && sum.bytes >= (*b.MaxBytes+1)*n
}
