package check

import (
	"iter"
	"slices"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/reporttest"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// What makes reports by hand.
var (
	node      = reporttest.Node
	withElems = reporttest.WithElems
	global    = reporttest.Global
	frame     = reporttest.Frame
	report    = reporttest.Report
	sessions  = reporttest.Sessions
)

var appNames = reporttest.Names{
	Roots:  []string{"example.com/app.sessions", "example.com/app.srv", "example.com/app.cache", "example.com/app.(*pool).run"},
	Types:  []string{"example.com/app.Session", "*example.com/app.Session", "*os.File", "os.File"},
	Hollow: []string{"example.com/app.Handler"},
}

func ref(n int64) *int64 { return &n }

// scopeOf is the scope of packages that a pattern names.
func scopeOf(t *testing.T, text string) tree.Scope {
	t.Helper()
	ps, err := naming.CompileScope(text)
	require.NoError(t, err, text)
	return tree.Scope{Packages: []naming.Packages{ps}}
}

// bounded is a request with bounds.
func bounded(t *testing.T, bounds ...request.Bound) *request.Request {
	t.Helper()
	r := &request.Request{}
	for _, b := range bounds {
		r.Limit(b)
	}
	require.Empty(t, r.Calls.Problems)
	return r
}

// observed is an observation of a report.
func observed(r *refscan.Report) *observe.Observation {
	return &observe.Observation{Report: r, Names: appNames}
}

// running is an observation of goroutines, of a program with a few functions.
func running(all ...[]*refscan.GoroutineStack) *observe.Observation {
	return &observe.Observation{
		Report: &refscan.Report{}, Stacks: &refscan.Stacks{Goroutines: slices.Concat(all...)},
		Functions: func() iter.Seq[string] {
			return slices.Values([]string{"example.com/app.New", "example.com/app.idle", "example.com/app.(*pool).run", "gopkg.in/yaml%2ev3.load"})
		},
	}
}

// workers is n goroutines of a pool with a frame of some size.
func workers(n, frame int) []*refscan.GoroutineStack {
	return reporttest.Goroutines(n, "example.com/app.New.gowrap1", "example.com/app.New", reporttest.StackOf(
		"example.com/app.New.gowrap1", 40, "example.com/app.(*pool).run", 100, "example.com/app.(*pool).handle", frame, "runtime.gopark", 32))
}

func paths(branches []*tree.Branch) []string {
	var all []string
	for _, b := range branches {
		all = append(all, b.Path)
	}
	return all
}
