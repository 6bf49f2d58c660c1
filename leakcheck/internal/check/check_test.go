package check

import (
	"errors"
	"testing"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/engine/native/nativeholders"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck/internal/native"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// A said is a check with a result that a test makes up.
type said struct{ r Result }

func (said) Problems(*request.Request) []string { return nil }

func (said) Needs() observe.Needs { return observe.Needs{} }

func (s said) Evaluate(_ *Seen, r *Result) {
	r.Findings, r.Problems = append(r.Findings, s.r.Findings...), append(r.Problems, s.r.Problems...)
	if s.r.Doubt != nil {
		r.Doubt = s.r.Doubt
	}
}

// All checks add to one result. A doubt matters only if nothing is broken for certain.
func TestEvaluate(t *testing.T) {
	doubt := errors.New("doubt")
	holds, broken := Finding{Shown: "A", Amount: "few"}, Finding{Shown: "B", Amount: "many", Broken: true}
	for _, tt := range []struct {
		name   string
		checks []Check
		ok     bool
		doubt  error
		broken int
		first  string
	}{
		{"nothing", nil, true, nil, 0, ""},
		{"holds", []Check{said{Result{Findings: []Finding{holds}, Doubt: doubt}}}, true, doubt, 0, ""},
		{"one is broken", []Check{said{Result{Findings: []Finding{holds}, Doubt: doubt}}, said{Result{Findings: []Finding{broken}}}}, false, nil, 1, "B: many"},
		{"two are broken", []Check{said{Result{Findings: []Finding{broken, {Broken: true}, holds}}}}, false, nil, 2, "B: many"},
		{"a mistake", []Check{said{Result{Problems: []string{"no such name"}, Doubt: doubt}}}, false, nil, 0, ""},
	} {
		obs := observed(report(sessions(1)))
		obs.Logs = []string{"it took long"}
		e := Evaluate(obs, &request.Request{}, tree.Scope{}, tt.checks)
		assert.Equal(t, tt.ok, e.Ok(), tt.name)
		assert.Equal(t, tt.doubt, e.Doubt, tt.name)
		n, first := e.Broken()
		assert.Equal(t, tt.broken, n, tt.name)
		assert.Equal(t, tt.first, first, tt.name)
		assert.Equal(t, []string{"it took long"}, e.Notes, tt.name)
	}
	line := golden.Difference{Kind: golden.Gone, Entry: golden.Entry{Path: "app.v"}}
	e := &Evaluation{Result: Result{Findings: []Finding{{Broken: true, Line: &line, Shown: "A"}}}}
	_, first := e.Broken()
	assert.Equal(t, line.String(), first)
}

// What counts for a request lies in its scope, is not ignored, and is not in the baseline.
func TestNarrow(t *testing.T) {
	r := &request.Request{}
	r.Ignore("app.cache", "it may")
	other := global(node("net/http.v", "*int", 3, 24), "", 0)
	cache := global(node("example.com/app.cache", "*int", 2, 16), "", 0)
	obs := observed(report(other, cache, sessions(5)))
	obs.Stacks = &refscan.Stacks{Goroutines: workers(2, 100)}
	s := scopeOf(t, "example.com/app")
	seen, doubt := narrow(obs, r, s)
	assert.NoError(t, doubt)
	assert.Equal(t, []string{"net/http.v", "example.com/app.cache", "example.com/app.sessions"}, paths(seen.Everything))
	assert.Equal(t, []string{"example.com/app.sessions"}, paths(seen.Now))
	assert.Equal(t, int64(13), seen.Forest[0].Total.Objects)
	require.Len(t, seen.Ignored, 1)
	assert.Equal(t, tree.Tally{Objects: 2, Bytes: 16}, seen.Ignored[0].Tally)
	assert.EqualValues(t, 2, seen.Census.Count())
	assert.Empty(t, seen.Base)

	r.Baseline = &request.Baseline{Forest: tree.GrowForest(report(other, cache, sessions(3)))}
	obs.Stacks = nil
	seen, _ = narrow(obs, r, s)
	assert.Equal(t, []string{"example.com/app.sessions"}, paths(seen.Base))
	assert.Equal(t, int64(13), seen.Now[0].Total.Objects)
	assert.Equal(t, int64(5), seen.Forest[0].Total.Objects)
	assert.True(t, seen.Census == nil)
}

// Native blocks are in the report only if the request asks for their holders. Why these are not
// known in full is a doubt.
func TestNarrowWithNative(t *testing.T) {
	unread := errors.New("not read")
	obs := observed(report(sessions(1)))
	obs.Native = &native.Answer{Found: &nativeholders.Result{AllLost: nativeholders.Sum{Blocks: 2, Bytes: 64}}, Err: unread}
	seen, doubt := narrow(obs, &request.Request{}, tree.Scope{})
	assert.NoError(t, doubt)
	assert.Len(t, seen.Everything, 1)
	seen, doubt = narrow(obs, &request.Request{Native: true}, tree.Scope{})
	assert.Equal(t, unread, doubt)
	assert.Equal(t, []string{"example.com/app.sessions", "lost"}, paths(seen.Everything))
	obs.Native = nil
	_, doubt = narrow(obs, &request.Request{Native: true}, tree.Scope{})
	assert.NoError(t, doubt)
}

// Scope and Ignore options that match nothing are named: in a problem, or in a note.
func TestScopeCheck(t *testing.T) {
	evaluate := func(goroutines bool, scope []string, ignores ...string) *Evaluation {
		r := &request.Request{}
		if len(scope) > 0 {
			r.Narrow(scope)
		}
		for _, i := range ignores {
			r.Ignore(i, "it may")
		}
		obs := observed(report(sessions(1), global(node("example.com/lib.v", "", 1, 8), "", 0)))
		obs.Stacks = &refscan.Stacks{Goroutines: workers(3, 100)}
		return Evaluate(obs, r, tree.Scope{Packages: r.Scope}, []Check{ScopeCheck{Req: r, Goroutines: goroutines}})
	}
	assert.Empty(t, evaluate(false, []string{"example.com/app", "example.com/lib"}).Problems)
	assert.Empty(t, evaluate(false, []string{"os"}).Problems, "the program has its types")
	assert.Equal(t, []string{`Scope("example.com/ap"): the program has no such package; did you mean example.com/app?`}, evaluate(false, []string{"example.com/app", "example.com/ap"}).Problems)
	assert.Equal(t, []string{`Scope("database/sql/..."): the program has no such package`}, evaluate(false, []string{"database/sql/..."}).Problems)
	assert.Equal(t, []string{"ignored: 3 objects, 8.4 KiB at app.sessions: it may", `Ignore("app.New") matched nothing; it can be deleted`}, evaluate(false, nil, "app.sessions", "app.New").Notes)
	assert.Equal(t, []string{"ignored: 3 objects, 8.4 KiB at app.sessions: it may", "ignored: 3 goroutines with 192.0 KiB of stacks at app.New: it may"}, evaluate(true, nil, "app.sessions", "app.New").Notes)
	assert.Equal(t, []string{"ignored: 3 goroutines with 192.0 KiB of stacks at app.New: it may", `Ignore("app.(*pool).run") matched nothing; it can be deleted`}, evaluate(true, nil, "app.New", "app.(*pool).run").Notes, "the first counts them")

	ignoring := &request.Request{}
	ignoring.Ignore("app.cache", "it may")
	for _, tt := range []struct {
		check  ScopeCheck
		stacks bool
	}{
		{ScopeCheck{Req: ignoring, Goroutines: true}, true}, {ScopeCheck{Req: ignoring}, false}, {ScopeCheck{Req: &request.Request{}, Goroutines: true}, false},
	} {
		assert.Equal(t, observe.Needs{Heap: true, Stacks: tt.stacks}, tt.check.Needs())
		assert.Empty(t, tt.check.Problems(ignoring))
	}
}

// The worst line exceeds the golden file by most objects, or by most bytes where objects are equal.
func TestWorstLine(t *testing.T) {
	line := func(objects, bytes int64) Finding {
		return Finding{Broken: true, Line: &golden.Difference{ObjectsOver: objects, BytesOver: bytes}}
	}
	for _, tt := range []struct {
		findings []Finding
		want     int // -1: none
	}{
		{nil, -1},
		{[]Finding{{Broken: true}}, -1},
		{[]Finding{{Broken: true}, line(1, 1)}, 1},
		{[]Finding{line(1, 9), line(2, 1), line(1, 99)}, 1},
		{[]Finding{line(2, 9), line(2, 10), line(2, 8)}, 1},
		{[]Finding{line(2, 9), line(2, 9)}, 0},
	} {
		e := &Evaluation{Result: Result{Findings: tt.findings}}
		worst := e.WorstLine()
		if tt.want < 0 {
			assert.True(t, worst == nil, tt)
			continue
		}
		assert.True(t, worst == &e.Findings[tt.want], tt)
	}
}

// A bound on native memory is judged without a scan of the heap, which would show the holders.
func TestUnscanned(t *testing.T) {
	all := func(nativeheap.Block) bool { return true }
	for _, tt := range []struct {
		obs  *observe.Observation
		f    Finding
		want bool
	}{
		{&observe.Observation{}, Finding{Broken: true, Blocks: all}, true},
		{&observe.Observation{}, Finding{Blocks: all}, false},
		{&observe.Observation{}, Finding{Broken: true}, false},
		{&observe.Observation{Names: appNames}, Finding{Broken: true, Blocks: all}, false},
	} {
		e := &Evaluation{&Seen{Observation: tt.obs}, Result{Findings: []Finding{{}, tt.f}}}
		assert.Equal(t, tt.want, e.Unscanned(), tt)
	}
}

// A trace leads to where most of the first culprit is, and knows what its figures are.
func TestFindingTrace(t *testing.T) {
	culprits := tree.GrowForest(report(sessions(4)))
	var query refscan.Query
	f := Finding{Heap: Heap{Culprits: culprits, Below: true, Weight: tree.BytesOf}}
	assert.Equal(t, "example.com/app.sessions", f.Trace().Last().Path, "the map has half of the bytes")
	f.Weight = tree.ObjectsOf
	assert.Equal(t, "example.com/app.sessions[*].buf", f.Trace().Last().Path)
	f.Below = false
	assert.Equal(t, "example.com/app.sessions", f.Trace().Last().Path)
	assert.True(t, f.Trace().Of == nil && !f.Trace().Freed && f.Trace().Cut == nil)
	f.Held = &observe.Held{Query: &query}
	assert.True(t, f.Trace().Of == &query)
	f.Freed = true
	assert.True(t, f.Trace().Freed && f.Trace().Cut == nil)
	f.Native = true
	assert.False(t, f.Trace().Freed, "a type's objects are cut together with native blocks")
	assert.True(t, f.Trace().Cut == culprits[0])
	f.Below = true
	assert.True(t, f.Trace().Freed)
}
