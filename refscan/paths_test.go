package refscan_test

import (
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// vertex is an object of the graphs in which paths are searched.
type vertex struct {
	out     []*vertex
	named   map[string]*vertex
	any     any
	fn      func() *vertex
	self    *vertex
	ballast [8]uintptr
}

var pathsRoot, pathsOther *vertex

//go:noinline
func newVertex(out ...*vertex) *vertex { return &vertex{out: out} }

func written(p refscan.RetainingPath) string {
	var b strings.Builder
	b.WriteString(strings.TrimPrefix(p.Name, pkg))
	for _, st := range p.Steps {
		if st.Name != "" {
			b.WriteString(strings.TrimPrefix(symbol.JoinPath("x", st.Name), "x"))
		}
	}
	return b.String()
}

func pathsTo(t *testing.T, addr uintptr, q refscan.PathQuery) (*refscan.Retention, []string) {
	t.Helper()
	s, err := refscan.Capture()
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	return pathsIn(t, s, addr, q)
}

// pathsIn is pathsTo for a snapshot that is there.
func pathsIn(t *testing.T, s *refscan.Snapshot, addr uintptr, q refscan.PathQuery) (*refscan.Retention, []string) {
	t.Helper()
	r, err := s.Paths(addr, q)
	require.NoError(t, err)
	var paths []string
	for _, p := range r.Paths {
		paths = append(paths, written(p))
	}
	return r, paths
}

func TestPaths(t *testing.T) {
	long(t)
	emptyCorpus()
	defer func() { pathsRoot, pathsOther = nil, nil }()
	var at uintptr
	build := func(f func() *vertex) { at = addressOf(f()) }

	t.Run("interior, boxed and captured", func(t *testing.T) {
		build(func() *vertex {
			target := newVertex()
			pathsRoot = &vertex{any: struct{ p *uintptr }{&target.ballast[3]}}
			pathsOther = newVertex()
			pathsOther.fn = func() *vertex { return target }
			return target
		})
		r, got := pathsTo(t, at+16, refscan.PathQuery{Limit: 3})
		assert.Equal(t, []string{"pathsRoot.any", "pathsOther.fn.target"}, got)
		assert.True(t, r.Inner)
		assert.Equal(t, "*"+pkg+"vertex", r.Type)
		assert.EqualValues(t, 1, r.RetainedObjects)
	})

	t.Run("ignored references and watched objects", func(t *testing.T) {
		var holder uintptr
		build(func() *vertex {
			target := newVertex()
			mid := newVertex(target)
			holder = addressOf(mid)
			pathsRoot = &vertex{self: mid}
			pathsOther = &vertex{named: map[string]*vertex{"k": target}}
			return target
		})
		ignore := func(holder, name string) bool { return strings.HasPrefix(holder, "map[") }
		s, err := refscan.Capture()
		require.NoError(t, err)
		defer s.Close()
		r, err := s.Paths(at, refscan.PathQuery{Limit: 4, Ignore: ignore, Watch: []uintptr{1, holder}})
		require.NoError(t, err)
		require.Len(t, r.Paths, 1)
		watched := []int{}
		for _, st := range r.Paths[0].Steps {
			watched = append(watched, st.Watched)
		}
		assert.Equal(t, "pathsRoot.self.out[0]", written(r.Paths[0]))
		assert.Contains(t, watched, 2)
	})
}

func TestPathsToOtherMemory(t *testing.T) {
	long(t)
	emptyCorpus()
	defer func() { pathsRoot, pathsOther = nil, nil }()
	t.Run("values that share a block", func(t *testing.T) {
		pathsRoot = &vertex{any: new(int32)}
		r, got := pathsTo(t, addressOf(pathsRoot.any.(*int32)), refscan.PathQuery{})
		assert.True(t, r.Shared)
		assert.Equal(t, []string{"pathsRoot.any"}, got)
	})

	t.Run("not on the heap, not alive", func(t *testing.T) {
		s, err := refscan.Capture()
		require.NoError(t, err)
		_, err = s.Paths(addressOf(&pathsRoot), refscan.PathQuery{})
		require.ErrorIs(t, err, refscan.ErrNotOnHeap)
		assert.Equal(t, pkg+"pathsRoot", s.VariableAt(addressOf(&pathsRoot)))
		assert.Empty(t, s.VariableAt(8))
		require.NoError(t, s.Close())
		_, err = s.Paths(8, refscan.PathQuery{})
		unavailable := new(refscan.UnavailableError)
		require.ErrorAs(t, err, &unavailable)
	})
}
