package refscan_test

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// Generic types with methods whose values are taken in generic code.
type (
	carton[T any] struct {
		v     T
		inner *shelf[T]
	}
	shelf[T any] struct{ v T }
	// slot is held by the closure itself, trunk by its address
	slot[T any] struct {
		n int32
		v T
	}
	trunk[T any] struct {
		_ [20]int
		v T
	}
	promoter[T any] struct {
		name string
		*carton[T]
	}
	single struct{ p *cargo }
)

//go:noinline
func (c *carton[T]) get() T { return c.v }

func (c *carton[T]) inlined() T { return c.v }

// inlinedCall is inlined, and calls a method of another type.
func (c *carton[T]) inlinedCall() T { return c.inner.get() }

//go:noinline
func (c *carton[T]) merge(other *carton[T], v T) T { c.v, other.v = v, c.v; return v }

//go:noinline
func (*carton[T]) nameless(v T) T { return v }

//go:noinline
func (s *shelf[T]) get() T { return s.v }

//go:noinline
func (s slot[T]) get() T { return s.v }

//go:noinline
func (t trunk[T]) get() T { return t.v }

func (s *single) get() *cargo { return s.p }

var (
	gMethodValues [2]any
	gMethodFuncs  []any
)

// The functions that follow take method values in shaped code. Their closures hold the receiver and
// a dictionary, and debug information lists neither.

//go:noinline
func valueOfGet[T any](v T) any { return (&carton[T]{v: v}).get }

//go:noinline
func valueOfInlined[T any](v T) any { return (&carton[T]{v: v}).inlined }

//go:noinline
func valueOfInlinedCall[T any](v T) any { return (&carton[T]{inner: &shelf[T]{v}}).inlinedCall }

//go:noinline
func valueOfMerge[T any](v T) any { return (&carton[T]{v: v}).merge }

//go:noinline
func valueOfNameless[T any](v T) any { return (&carton[T]{v: v}).nameless }

//go:noinline
func valueOfPromoted[T any](v T) any { return (&promoter[T]{"", &carton[T]{v: v}}).get }

//go:noinline
func valueOfSlot[T any](v T) any { return slot[T]{1, v}.get }

//go:noinline
func valueOfTrunk[T any](v T) any { return trunk[T]{v: v}.get }

// expressionOfGet is no method value: its closure holds the dictionary alone.
//
//go:noinline
func expressionOfGet[T any](T) any { return (*carton[T]).get }

// Each is taken of two types with one shape.
func TestMethodValuesInGenericCode(t *testing.T) {
	both := func(construct, path string, take func(v *cargo) any, takeOther func(v *single) any) {
		keeps(t, construct, map[string]int64{"gMethodValues[*]." + path: 1, "gMethodValues[*]." + path + ".p": 1}, func() {
			gMethodValues = [2]any{take(newCargo()), takeOther(&single{newCargo()})}
		}, &gMethodValues)
	}
	both("pointer receiver", "$recv.v", valueOfGet[*cargo], valueOfGet[*single])
	both("inlined method", "$recv.v", valueOfInlined[*cargo], valueOfInlined[*single])
	both("inlined method that calls another", "$recv.inner.v", valueOfInlinedCall[*cargo], valueOfInlinedCall[*single])
	both("parameters of the receiver's type", "$recv.v", valueOfMerge[*cargo], valueOfMerge[*single])
	both("receiver without a name", "$recv.v", valueOfNameless[*cargo], valueOfNameless[*single])
	both("promoted method", "$recv.v", valueOfPromoted[*cargo], valueOfPromoted[*single])
	both("receiver in the closure", "$recv.v", valueOfSlot[*cargo], valueOfSlot[*single])
	both("large receiver", "$recv.v", valueOfTrunk[*cargo], valueOfTrunk[*single])
	t.Run("method expression", func(t *testing.T) {
		gMethodFuncs = []any{expressionOfGet(newCargo()), expressionOfGet(&single{})}
		defer func() { gMethodFuncs = nil }()
		for _, n := range at(t, holds(t, map[string]int64{}), "gMethodFuncs").Children {
			require.Empty(t, n.Children, n.Type)
		}
	})
}
