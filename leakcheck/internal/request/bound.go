package request

import (
	"fmt"
	"reflect"

	"github.com/leakgate/leakgate/leakcheck/internal/naming"
)

// A Selector says which part of the retained memory a bound is for.
type Selector struct {
	Kind   selectorKind
	Shown  string           // as written in the test
	Record string           // its name in records, which are compared with older ones
	Path   naming.Pattern   // Root, Path
	Types  naming.TypeMatch // Type, TypeNamed
	Object reflect.Type     // Type: of the objects
	Err    error
}

type selectorKind int

const (
	selectRoot selectorKind = iota + 1
	SelectPath
	selectType
	selectTypeNamed
)

func RootSelector(text string) Selector {
	p, err := naming.CompilePathPattern(text)
	shown := fmt.Sprintf("Root(%q)", text)
	return Selector{Kind: selectRoot, Shown: shown, Record: shown, Path: p, Err: err}
}

func PathSelector(text string) Selector {
	p, err := naming.CompilePathPattern(text)
	shown := fmt.Sprintf("Path(%q)", text)
	return Selector{Kind: SelectPath, Shown: shown, Record: shown, Path: p, Err: err}
}

func TypeSelector(t reflect.Type) Selector {
	m, err := naming.MatchType(t)
	naming.LearnType(t)
	name := naming.TypeName(t)
	shown, record := "Type["+naming.ShortName(name)+"]()", "Type["+naming.LastElements(name)+"]()"
	return Selector{Kind: selectType, Shown: shown, Record: record, Types: m, Object: naming.ObjectOf(t), Err: err}
}

func TypeNamedSelector(text string) Selector {
	m, err := naming.MatchTypeNamed(text)
	shown := fmt.Sprintf("TypeNamed(%q)", text)
	return Selector{Kind: selectTypeNamed, Shown: shown, Record: shown, Types: m, Err: err}
}

// A Bound limits what a selector selects.
type Bound struct {
	Selector             Selector
	None                 bool
	MaxObjects, MaxBytes *int64
	Cut                  CutLimits
}

// CutLimits are bounds on what cutting the selected branches would free.
type CutLimits struct {
	Objects, Bytes *int64
	Native         bool // blocks of C's malloc that cutting would free count, too
}

// Given reports whether there is such a bound.
func (l *CutLimits) Given() bool { return l.Objects != nil || l.Bytes != nil }

// String returns the bound as it is written in a test.
func (b *Bound) String() string {
	s := b.Selector.Shown
	limit := func(method string, n *int64) {
		if n != nil {
			s += fmt.Sprintf(".%s(%d)", method, *n)
		}
	}
	if b.None {
		s += ".None()"
	} else {
		limit("MaxObjects", b.MaxObjects)
	}
	limit("MaxBytes", b.MaxBytes)
	limit("MaxRetainedObjects", b.Cut.Objects)
	limit("MaxRetainedBytes", b.Cut.Bytes)
	if b.Cut.Native {
		s += ".WithNative()"
	}
	return s
}

// Broken reports whether the figures exceed the bound.
func (b *Bound) Broken(objects, bytes int64) bool {
	return b.MaxObjects != nil && objects > *b.MaxObjects || b.MaxBytes != nil && bytes > *b.MaxBytes
}

// Limit adds a bound to a request.
func (r *Request) Limit(b Bound) {
	negative := func(n *int64) bool { return n != nil && *n < 0 }
	switch {
	case !r.isUsable(b.Selector):
	case negative(b.MaxObjects), negative(b.MaxBytes), negative(b.Cut.Objects), negative(b.Cut.Bytes):
		r.Problem("%s: a bound cannot be negative", &b)
	case b.Cut.Native && !b.Cut.Given():
		r.Problem("%s: WithNative is for MaxRetainedObjects and MaxRetainedBytes", &b)
	case b.MaxObjects == nil && b.MaxBytes == nil && !b.Cut.Given():
		r.Problem("%s: has neither MaxObjects nor MaxBytes", b.Selector.Shown)
	default:
		r.Bounds = append(r.Bounds, &b)
	}
}

// Record adds lines to the golden file on what cutting the branches that a selector selects would
// free.
func (r *Request) Record(s Selector) {
	if r.isUsable(s) {
		r.Recorded = append(r.Recorded, s)
	}
}

// isUsable reports whether a selector is usable. If it is not, it notes the problem.
func (r *Request) isUsable(s Selector) bool {
	switch {
	case s.Kind == 0:
		r.Problem("a zero Bound: start with Root, Path, Type or TypeNamed")
	case s.Err != nil:
		r.Problem("%s: %v", s.Shown, s.Err)
	default:
		return true
	}
	return false
}
