package alloc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchproc"

	"github.com/leakgate/leakgate/leakcheck"
)

type (
	session                   struct{ _ [4]*int }
	pair[K comparable, V any] struct {
		_ K
		_ *V
	}
)

var kept struct {
	session *session
	list    []session
	pair    *pair[string, map[string][]int]
	table   map[string]func(int) error
	odd     *struct{ A, B *int }
}

// benchmarkUnits reports objects of types whose names have everything that names can have.
func benchmarkUnits(b *testing.B) {
	op := func() {
		kept.session = new(session)
		kept.list = make([]session, 3)
		kept.pair = new(pair[string, map[string][]int])
		kept.table = map[string]func(int) error{}
		kept.table["a"] = nil
		kept.odd = &struct{ A, B *int }{}
	}
	leakcheck.ReportAllocs(
		b, op, leakcheck.Type[*session](), leakcheck.Type[[]session](), leakcheck.Type[*pair[string, map[string][]int]](),
		leakcheck.Type[map[string]func(int) error](), leakcheck.Type[*struct{ A, B *int }](), leakcheck.TypeNamed("alloc.sess*"),
	)
	leakcheck.ReportRetained(b)
	for b.Loop() {
		op()
	}
}

// benchstat's own parser reads what ReportAllocs and ReportRetained add to a benchmark's results:
// each is a figure of its own, and its unit has the type in it.
func TestBenchstatReadsTheUnits(t *testing.T) {
	result := testing.Benchmark(benchmarkUnits)
	require.NotEmpty(t, result.Extra)
	text := fmt.Sprintf("pkg: example.com/app\nBenchmarkUnits-2\t%s\n", result)
	reader := benchfmt.NewReader(strings.NewReader(text), "units")
	var found []*benchfmt.Result
	for reader.Scan() {
		switch r := reader.Result().(type) {
		case *benchfmt.Result:
			found = append(found, r.Clone())
		case *benchfmt.SyntaxError:
			t.Error(r)
		}
	}
	require.NoError(t, reader.Err())
	require.Len(t, found, 1, text)
	for unit, want := range result.Extra {
		got, ok := found[0].Value(unit)
		assert.True(t, ok, "%s in %s", unit, text)
		assert.InDelta(t, want, got, 0.01, unit)
	}
	for unit, want := range map[string]float64{
		"alloc.session-allocs/op": 1, "[]alloc.session-allocs/op": 1,
		"alloc.pair[string,map[string][]int]-allocs/op": 1,
		"map[string]func(int)error-allocs/op":           1,
		"alloc.sess*-allocs/op":                         1,
	} {
		got, ok := found[0].Value(unit)
		assert.True(t, ok, "%s in %s", unit, text)
		assert.InDelta(t, want, got, 0.01, unit)
	}
	// A filter and a projection of benchstat's take units by these names.
	filter, err := benchproc.NewFilter(`.unit:"alloc.session-allocs/op"`)
	require.NoError(t, err)
	match, err := filter.Match(found[0])
	require.NoError(t, err)
	assert.True(t, match.Any())
	assert.False(t, match.All())
}
