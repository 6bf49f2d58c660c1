//go:build amd64 || arm64

package proof_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/testkit/heaptest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// chargedTypes adds what is charged to nodes of each type, without untyped objects.
func chargedTypes(all map[string]proof.Reach, nodes []*attribute.Node) {
	for _, n := range nodes {
		if n.Root != nil && n.Root.Class.IsTool() {
			continue
		}
		sum := all[n.Type]
		sum.Objects, sum.Bytes = sum.Objects+n.Objects-n.UntypedObjects, sum.Bytes+n.Bytes-n.UntypedBytes
		all[n.Type] = sum
		chargedTypes(all, n.Children)
	}
}

// Types whose objects the allocator records in different ways.
type (
	shapeLarge struct {
		_ [600]byte
		_ *heaptest.Knot
	}
	shapeHuge struct {
		_ [40 << 10]byte
		_ *heaptest.Knot
	}
	shapeFaces struct {
		a any
		_ error
		_ *int
		_ [3]struct {
			_ int
			_ string
		}
	}
	shapePlain     struct{ _ [30]int }
	shapeOf[T any] struct {
		_ int
		_ []T
		_ *T
		_ func()
	}
)

var shapes []any

func fillShapes(rng *rand.Rand) {
	shapes = nil
	made := [...]func() any{
		func() any { return new(shapeLarge) },
		func() any { return new(shapeHuge) },
		func() any { return new(shapeFaces) },
		func() any { return shapeFaces{a: 1} },
		func() any { return new(shapePlain) },
		func() any { return shapeOf[string]{} },
		func() any { return new(shapeOf[int]) },
		func() any { return new([7]*heaptest.Knot) },
		func() any { return make([]shapeFaces, 3) },
		func() any { return &make([]shapePlain, 3)[1] },
		func() any { return reflect.New(reflect.TypeFor[shapeFaces]()).Interface() },
		func() any { return map[int]shapeFaces{1: {}} },
	}
	for range rng.IntN(100) {
		shapes = append(shapes, made[rng.IntN(len(made))]())
	}
}

// For no type does a scan find more objects or bytes than a count that follows, unless there are
// fewer by then.
func TestTypeCountIsAnUpperBound(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	t.Cleanup(func() {
		shapes = nil
		fillReach(rand.New(rand.NewPCG(0, 0)))
		heaptest.ClearGraph()
		reachTimer.Stop()
	})
	for range require.Rounds(1, 8) {
		heaptest.FillGraph(rng, 1+rng.IntN(400), true)
		fillReach(rng)
		fillShapes(rng)
		want := make(map[string]proof.Reach)
		chargedTypes(want, nodes(t))
		delete(want, "")
		told := 0
		var wrong []string // by type and what is wrong
		fault := func(name, format string, args ...any) { wrong = append(wrong, name, fmt.Sprintf(format, args...)) }
		for name, w := range want {
			if w.Objects == 0 || !require.IsSlow() && !isOwn(name) {
				continue
			}
			count := func(objects, bytes int64) (proof.TypeCount, bool) {
				c := proof.TypeCount{Name: name, Is: func(reference string) bool { return reference == name }, Count: proof.Count{MaxObjects: objects, MaxBytes: bytes}}
				within, err := proof.Within(t.Context(), t.Logf, proof.Claims{Types: []*proof.TypeCount{&c}})
				require.NoError(t, err)
				return c, within
			}
			got, within := count(-1, -1)
			if within && (got.Objects < w.Objects || got.Bytes < w.Bytes) {
				fault(name, "counted are %d objects, %d B; charged are %d, %d B", got.Objects, got.Bytes, w.Objects, w.Bytes)
			}
			if within && isOwn(name) {
				told++
			}
			if _, within := count(w.Objects-1, -1); within {
				fault(name, "%d objects are within %d", w.Objects, w.Objects-1)
			}
			if _, within := count(-1, w.Bytes-1); within {
				fault(name, "%d B are within %d", w.Bytes, w.Bytes-1)
			}
		}
		t.Logf("%d types of this test could be told", told)
		require.Positive(t, told, "a program may have no more than two types that can be told, but never none")
		if wrong == nil {
			continue
		}
		// What an earlier test has left, such as a connection, may have ended since the scan.
		after := make(map[string]proof.Reach)
		chargedTypes(after, nodes(t))
		for i := 0; i < len(wrong); i += 2 {
			if name := wrong[i]; after[name].Objects >= want[name].Objects && after[name].Bytes >= want[name].Bytes {
				t.Errorf("%s: %s", name, wrong[i+1])
			}
		}
	}
}

// isOwn reports whether a type or a variable is one of this test, or of the random graphs.
func isOwn(name string) bool {
	return strings.Contains(name, pkg) || strings.Contains(name, heaptest.Package)
}

// Types without objects, and the names of no types.
func TestTypeCountOfLittle(t *testing.T) {
	for _, tt := range []struct {
		name string
		want bool
	}{
		{"*" + pkg + "neverMade", true},
		{"*" + pkg + "NoSuchType", false},
		{"*int8", false}, // shares blocks
		{"string", false},
	} {
		c := proof.TypeCount{Name: tt.name, Is: func(reference string) bool { return reference == tt.name }, Count: proof.Count{MaxBytes: -1}}
		for range 2 { // the second answer is kept
			within, err := proof.Within(t.Context(), t.Logf, proof.Claims{Types: []*proof.TypeCount{&c}})
			require.NoError(t, err)
			require.Equal(t, tt.want, within, tt.name)
		}
	}
	require.Nil(t, never)
	require.Panics(t, func() { never.fields() })
}

// The names of packages are known before a claim is asked about a type: a bound may use them.
func TestNamesAreLearnedFirst(t *testing.T) {
	var learned map[string]string
	c := proof.TypeCount{Name: "learned", Count: proof.Count{MaxBytes: -1}, Is: func(string) bool {
		require.NotNil(t, learned)
		return false
	}}
	_, err := proof.Within(t.Context(), t.Logf, proof.Claims{Types: []*proof.TypeCount{&c}, Learn: func(names map[string]string) { learned = names }})
	require.NoError(t, err)
	require.NotNil(t, learned)
}

type neverMade struct {
	a    *heaptest.Knot
	_    [3]int
	b    *heaptest.Knot
	_    [5]int
	_, _ *heaptest.Knot
}

func (n *neverMade) fields() (a, b *heaptest.Knot) { return n.a, n.b }

var never *neverMade
