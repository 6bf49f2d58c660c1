package check

import (
	"errors"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/native/nativeholders"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

var (
	appEnv     = &environ.Environment{}
	ofSessions = request.RootSelector("app.sessions")
	ofBuffers  = request.PathSelector("app.sessions[*].buf")
	ofSession  = request.TypeNamedSelector("app.Session")
)

// judged is the evaluation of a request with bounds alone.
func judged(r *request.Request, s tree.Scope, report *refscan.Report) *Evaluation {
	return Evaluate(observed(report), r, s, []Check{NewBoundsCheck(r, s, appEnv)})
}

// A bound has the figures of what it selects, and by how much they exceed it.
func TestBounds(t *testing.T) {
	for _, tt := range []struct {
		bound    request.Bound
		broken   bool
		amount   string
		objects  int64
		bytes    int64
		culprits []string
	}{
		{request.Bound{Selector: ofSessions, MaxObjects: ref(251), MaxBytes: ref(50592)}, false, "found 251 objects, 49.4 KiB", 251, 50592, []string{"example.com/app.sessions"}},
		{request.Bound{Selector: ofSessions, MaxObjects: ref(250)}, true, "found 251 objects, 49.4 KiB: 1 object more than allowed", 251, 50592, []string{"example.com/app.sessions"}},
		{request.Bound{Selector: ofSessions, MaxBytes: ref(50591)}, true, "found 251 objects, 49.4 KiB: 1 B more than allowed", 251, 50592, []string{"example.com/app.sessions"}},
		{request.Bound{Selector: ofSessions, MaxObjects: ref(249), MaxBytes: ref(50000)}, true, "found 251 objects, 49.4 KiB: 2 objects and 592 B more than allowed", 251, 50592, []string{"example.com/app.sessions"}},
		{request.Bound{Selector: ofSessions, None: true, MaxObjects: ref(0)}, true, "found 251 objects, 49.4 KiB", 251, 50592, []string{"example.com/app.sessions"}},
		{request.Bound{Selector: ofBuffers, MaxObjects: ref(99)}, true, "found 100 objects, 31.2 KiB: 1 object more than allowed", 100, 32000, []string{"example.com/app.sessions[*].buf"}},
		{request.Bound{Selector: ofSession, MaxObjects: ref(101)}, true, "found 102 objects, 9.6 KiB: 1 object more than allowed", 102, 9792, []string{"example.com/app.sessions[*]", "example.com/app.cache"}},
	} {
		e := judged(bounded(t, tt.bound), tree.Scope{}, report(global(node("example.com/app.cache", "*example.com/app.Session", 2, 192), "", 0), sessions(100)))
		shown := tt.bound.String()
		require.Len(t, e.Findings, 1, shown)
		f := e.Findings[0]
		assert.Equal(t, shown, f.Shown)
		assert.Equal(t, tt.broken, f.Broken, shown)
		assert.Equal(t, tt.broken, !e.Ok(), shown)
		assert.Equal(t, tt.amount, f.Amount, shown)
		assert.Equal(t, tt.culprits, paths(f.Culprits), shown)
		assert.Equal(t, verdict.Bound{
			Kind: verdict.Retained, Selector: tt.bound.Selector.Record, MaxObjects: tt.bound.MaxObjects, MaxBytes: tt.bound.MaxBytes, Objects: tt.objects, Bytes: tt.bytes,
		}, f.Record, shown)
		assert.Equal(t, !tt.bound.Selector.ByType(), f.Below, shown)
		byObjects := tt.bound.MaxObjects != nil && tt.objects > *tt.bound.MaxObjects
		assert.Equal(t, byObjects, f.Weight(tree.Tally{Objects: 1}) == 1, shown)
		assert.Empty(t, e.Notes, shown)
	}
}

// The first culprit has most of what the bound is about: objects or bytes.
func TestRank(t *testing.T) {
	r := report(
		global(node("example.com/app.few", "*example.com/app.Session", 2, 9000), "", 0),
		global(node("example.com/app.many", "*example.com/app.Session", 90, 900), "", 0),
		global(node("example.com/app.b", "*example.com/app.Session", 2, 50), "", 0),
		global(node("example.com/app.a", "*example.com/app.Session", 2, 50), "", 0),
		global(node("example.com/app.none", "*example.com/app.Session", 0, 0), "", 0),
	)
	const few, many, a, b = "example.com/app.few", "example.com/app.many", "example.com/app.a", "example.com/app.b"
	e := judged(bounded(t, request.Bound{Selector: ofSession, MaxObjects: ref(1)}, request.Bound{Selector: ofSession, MaxBytes: ref(1)}), tree.Scope{}, r)
	assert.Equal(t, []string{many, few, a, b}, paths(e.Findings[0].Culprits))
	assert.Equal(t, []string{few, many, a, b}, paths(e.Findings[1].Culprits))
	broken, first := e.Broken()
	assert.Equal(t, 2, broken)
	assert.Equal(t, `TypeNamed("app.Session").MaxObjects(1): found 96 objects, 9.8 KiB: 95 objects more than allowed`, first)
}

// Objects of unknown type count for no type. A bound that holds has a note on those that functions
// of the program hold.
func TestBoundsOnTypes(t *testing.T) {
	run := func(untyped int64) *refscan.Node {
		n := node("example.com/app.run.s", "*example.com/app.Session", 5, 500)
		n.UntypedObjects, n.UntypedBytes = untyped, 100*untyped
		return frame(n, refscan.RootInfo{Func: "example.com/app.run"})
	}
	bound := func(most int64) request.Bound { return request.Bound{Selector: ofSession, MaxObjects: ref(most)} }
	const note = `TypeNamed("app.Session").MaxObjects(3): could not tell the type of 2 objects (200 B) at example.com/app.run.s, which does not count`
	library := node("net/http.serve.x", "*net/http.conn", 1, 10)
	library.UntypedObjects = 1
	variable := node("example.com/app.x", "*int", 1, 10)
	variable.UntypedObjects = 1
	others := []*refscan.Node{frame(library, refscan.RootInfo{Func: "net/http.serve"}), global(variable, "", 0)}
	e := judged(bounded(t, bound(3)), tree.Scope{}, report(append(others, run(2))...))
	assert.True(t, e.Ok())
	assert.Equal(t, "found 3 objects, 300 B", e.Findings[0].Amount)
	assert.Equal(t, []string{note}, e.Notes)
	e = judged(bounded(t, bound(2)), tree.Scope{}, report(run(2)))
	assert.False(t, e.Ok())
	assert.Empty(t, e.Notes, "a bound that does not hold needs no more objects")
	e = judged(bounded(t, bound(5)), tree.Scope{}, report(append(others, run(0))...))
	assert.Empty(t, e.Notes)
}

// Without a scope, what the standard library keeps on purpose does not count for a type.
func TestBoundsAndRetainers(t *testing.T) {
	files := request.TypeNamedSelector("os.File")
	r := report(global(node("os.Stderr", "*os.File", 1, 8), "", 0), global(node("example.com/app.log", "*os.File", 2, 16), "", 0))
	e := judged(bounded(t, request.Bound{Selector: files, MaxObjects: ref(2)}), tree.Scope{}, r)
	assert.True(t, e.Ok())
	assert.Equal(t, []string{`TypeNamed("os.File").MaxObjects(2): kept on purpose, not counted: 1 object, 8 B at os.Stderr (the process's standard streams)`}, e.Notes)
	req := bounded(t, request.Bound{Selector: files, MaxObjects: ref(0)})
	req.Narrow([]string{"os"})
	e = judged(req, tree.Scope{Packages: req.Scope}, r)
	assert.Equal(t, "found 1 object, 8 B: 1 object more than allowed", e.Findings[0].Amount, "the scope asks for it")
	e = judged(bounded(t, request.Bound{Selector: request.RootSelector("os.Stderr"), MaxObjects: ref(0)}), tree.Scope{}, r)
	assert.False(t, e.Ok(), "the variable is named")
}

// A baseline is subtracted from what is found, and from the culprits.
func TestBoundsSince(t *testing.T) {
	since := func(b request.Bound, before, now int64) Finding {
		r := bounded(t, b)
		r.Baseline = &request.Baseline{Forest: tree.GrowForest(report(sessions(before)))}
		return judged(r, tree.Scope{}, report(sessions(now))).Findings[0]
	}
	f := since(request.Bound{Selector: ofSessions, MaxObjects: ref(99)}, 60, 100)
	assert.True(t, f.Broken)
	assert.Equal(t, "found 100 objects, 16.6 KiB: 1 object more than allowed", f.Amount)
	assert.Equal(t, tree.Tally{Objects: 100, Bytes: 16960}, f.Culprits[0].Total)
	f = since(request.Bound{Selector: ofSession, MaxObjects: ref(40)}, 60, 100)
	assert.False(t, f.Broken)
	assert.Equal(t, "found 40 objects, 3.8 KiB", f.Amount)
	f = since(request.Bound{Selector: ofSession, MaxObjects: ref(0)}, 100, 60)
	assert.Equal(t, "found 0 objects, 0 B", f.Amount, "less than before is not less than nothing")
	assert.Empty(t, f.Culprits)
}

// What a bound's branches hold counts in place of what the report charges to them, and what they
// only lead to is named if it would break the bound.
func TestBoundsOnWhatIsHeld(t *testing.T) {
	held := func(n, beyond int64, nearer string) *refscan.Held {
		return &refscan.Held{Roots: []*refscan.Node{sessions(n)}, BeyondObjects: beyond, BeyondBytes: 10 * beyond, Nearer: nearer}
	}
	for _, tt := range []struct {
		name           string
		most           int64
		result, before *refscan.Held
		base           bool
		broken         bool
		amount, beyond string
	}{
		{"more than in the report", 10, held(8, 0, ""), nil, false, true, "found 21 objects, 11.3 KiB: 11 objects more than allowed", ""},
		{"and leads to more", 21, held(8, 3, "example.com/app.cache"), nil, false, false, "found 21 objects, 11.3 KiB", "3 objects, 30 B that example.com/app.cache is nearer to"},
		{"to more that nothing known is nearer to", 21, held(8, 1, ""), nil, false, false, "found 21 objects, 11.3 KiB", "1 object, 10 B that something else is nearer to"},
		{"to no more than the bound", 24, held(8, 3, "example.com/app.cache"), nil, false, false, "found 21 objects, 11.3 KiB", ""},
		{"is broken without that", 20, held(8, 3, "example.com/app.cache"), nil, false, true, "found 21 objects, 11.3 KiB: 1 object more than allowed", ""},
		{"not read", 10, nil, nil, false, false, "found 6 objects, 8.8 KiB", ""},
		{"since", 9, held(8, 5, "example.com/app.cache"), held(4, 4, ""), true, true, "found 10 objects, 1.7 KiB: 1 object more than allowed", ""},
		{"since, leads to more", 10, held(8, 5, "example.com/app.cache"), held(4, 4, ""), true, false, "found 10 objects, 1.7 KiB", "1 object, 10 B that example.com/app.cache is nearer to"},
		{"since, not read before", 10, held(8, 5, ""), nil, true, false, "found 6 objects, 8.8 KiB", ""},
	} {
		r := bounded(t, request.Bound{Selector: ofSessions, MaxObjects: ref(tt.most)})
		if tt.base {
			r.Baseline = &request.Baseline{}
		}
		c := NewBoundsCheck(r, tree.Scope{}, appEnv)
		needs := c.Needs()
		require.Len(t, needs.Held, 1, tt.name)
		needs.Held[0].Result, needs.Held[0].Before = tt.result, tt.before
		e := Evaluate(observed(report(sessions(2))), r, tree.Scope{}, []Check{c})
		f := e.Findings[0]
		assert.Equal(t, tt.amount, f.Amount, tt.name)
		assert.Equal(t, tt.broken, f.Broken, tt.name)
		assert.Equal(t, tt.beyond, f.Record.Beyond, tt.name)
		isHeld := tt.result != nil && (!tt.base || tt.before != nil)
		assert.Equal(t, isHeld, f.Held != nil, tt.name)
		if tt.beyond != "" {
			assert.Equal(t, []string{f.Shown + ": it also leads to " + tt.beyond}, e.Notes, tt.name)
		} else {
			assert.Empty(t, e.Notes, tt.name)
		}
	}
}

// Trees of what is held lack the roots that are no variables: those are the report's.
func TestHeldForest(t *testing.T) {
	other := func(name string, kind refscan.RootKind, objects int64) *refscan.Node {
		n := node(name, "", objects, 8*objects)
		n.Root = &refscan.RootInfo{Kind: kind}
		return n
	}
	r := &request.Request{}
	r.Ignore("app.cache", "it may")
	c := NewBoundsCheck(r, tree.Scope{}, appEnv)
	held := &refscan.Held{Roots: []*refscan.Node{other("both", refscan.RootOther, 1), sessions(2), global(node("example.com/app.cache", "", 1, 8), "", 0)}}
	of := tree.GrowForest(&refscan.Report{Roots: []*refscan.Node{
		other("libz", refscan.RootNative, 2), other("runtime.data", refscan.RootOther, 3), other("both", refscan.RootOther, 4), sessions(5), other("timer(app.Tick)", refscan.RootTimer, 6),
	}})
	objects := make(map[string]int64)
	for _, b := range c.heldForest(held, of) {
		objects[b.Path] += b.Total.Objects
	}
	assert.Equal(t, map[string]int64{"both": 1, "example.com/app.sessions": 6, "libz": 2, "runtime.data": 3}, objects)
}

// A bound on a path at which nothing is says so, since its pattern may be wrong.
func TestNothingAtPath(t *testing.T) {
	e := judged(bounded(t, request.Bound{Selector: request.PathSelector("app.srv.conns"), MaxObjects: ref(0)}), tree.Scope{}, report(sessions(1)))
	assert.True(t, e.Ok())
	assert.Equal(t, []string{`Path("app.srv.conns").MaxObjects(0): its root exists, but nothing is retained at that path now`}, e.Notes)
	e = judged(bounded(t, request.Bound{Selector: request.RootSelector("app.srv"), MaxObjects: ref(0)}), tree.Scope{}, report(sessions(1)))
	assert.Empty(t, e.Notes, "a variable may hold nothing")
	e = judged(bounded(t, request.Bound{Selector: request.RootSelector("app.serv"), MaxObjects: ref(0)}, request.Bound{Selector: ofSessions, MaxObjects: ref(9)}), tree.Scope{}, report(sessions(1)))
	require.Len(t, e.Problems, 1)
	assert.Contains(t, e.Problems[0], `Root("app.serv").MaxObjects(0): the program has no package variable or function of that name; did you mean example.com/app.srv?`)
	assert.Len(t, e.Findings, 1, "the other bound is judged")
	assert.False(t, e.Ok())
}

// What cutting would free is asked for, and judged, only for bounds on it.
func TestBoundsNeeds(t *testing.T) {
	objects := request.Bound{Selector: ofSessions, MaxObjects: ref(1)}
	freed := request.Bound{Selector: ofSessions, Cut: request.CutLimits{Bytes: ref(1)}}
	byType := request.Bound{Selector: ofSession, MaxObjects: ref(1), Cut: request.CutLimits{Objects: ref(1), Native: true}}
	n := NewBoundsCheck(bounded(t, objects), tree.Scope{}, appEnv).Needs()
	assert.True(t, n.Heap)
	assert.False(t, n.Retained || n.Native)
	assert.Len(t, n.Held, 1)
	assert.True(t, n.Cuts[0].Nodes == nil && n.Cuts[0].Keys == nil)
	n = NewBoundsCheck(bounded(t, freed), tree.Scope{}, appEnv).Needs()
	assert.True(t, n.Retained)
	assert.False(t, n.Native)
	assert.Empty(t, n.Held)
	n = NewBoundsCheck(bounded(t, objects, freed, request.Bound{Selector: ofBuffers, MaxBytes: ref(1)}), tree.Scope{}, appEnv).Needs()
	assert.Len(t, n.Held, 2, "of each bound on objects or bytes")
	n = NewBoundsCheck(bounded(t, objects, byType), tree.Scope{}, appEnv).Needs()
	assert.True(t, n.Retained && n.Native)
	require.Len(t, n.Cuts, 2)
	assert.True(t, n.Cuts[1].Nodes != nil && n.Cuts[1].Keys != nil)
	assert.Len(t, n.Held, 1, "the objects of a type are held by nothing of the bound's own")

	problems := func(change func(*request.Request), b request.Bound) []string {
		r := bounded(t, b)
		change(r)
		return NewBoundsCheck(r, tree.Scope{}, appEnv).Problems(r)
	}
	since := func(r *request.Request) { r.Baseline = &request.Baseline{} }
	ignore := func(r *request.Request) { r.Ignore("app.cache", "it may") }
	assert.Empty(t, problems(since, objects))
	assert.Empty(t, problems(ignore, objects))
	assert.Equal(t, []string{SinceBesideRetained}, problems(since, freed))
	require.Len(t, problems(ignore, freed), 1)
	assert.Contains(t, problems(ignore, freed)[0], "Ignore beside MaxRetainedObjects or MaxRetainedBytes")
}

// The nodes that are cut are those that the bound counts.
func TestCutSelection(t *testing.T) {
	own := global(node("github.com/leakgate/leakgate/leakcheck.options", "*int", 1, 8), "", 0)
	streams := global(node("os.Stderr", "*os.File", 1, 8), "", 0)
	files := global(node("example.com/app.log", "*os.File", 2, 16, node("next", "*os.File", 1, 8)), "", 0)
	conn := global(node("net/http.conn", "*os.File", 1, 8), "", 0)
	r := report(own, streams, files, conn)
	selected := func(s tree.Scope, packages ...string) []*refscan.Node {
		req := bounded(t, request.Bound{Selector: request.TypeNamedSelector("os.File"), Cut: request.CutLimits{Objects: ref(1)}})
		if len(packages) > 0 {
			req.Narrow(packages)
		}
		return NewBoundsCheck(req, s, appEnv).Needs().Cuts[0].Nodes(r)
	}
	same := func(want, got []*refscan.Node, message string) {
		require.Len(t, got, len(want), message)
		for i := range want {
			assert.True(t, want[i] == got[i], message)
		}
	}
	same([]*refscan.Node{files, files.Children[0], conn}, selected(tree.Scope{}), "without what is kept on purpose")
	same([]*refscan.Node{streams}, selected(scopeOf(t, "os"), "os"), "in scope")

	native := global(node("example.com/app.handles", "[]uintptr", 1, 64, node("[*]", symbol.NativeBlock, 3, 96)), "", 0)
	lost := node("lost", symbol.NativeBlock, 2, 64)
	lost.Root = &refscan.RootInfo{Kind: refscan.RootNative, Package: "C"}
	r = report(files, native, lost)
	keys := func(sel request.Selector) []string {
		return NewBoundsCheck(bounded(t, request.Bound{Selector: sel, Cut: request.CutLimits{Objects: ref(1), Native: true}}), tree.Scope{}, appEnv).Needs().Cuts[0].Keys(r)
	}
	all := keys(request.RootSelector("**"))
	require.Len(t, all, 3)
	assert.Empty(t, all[0], "leads to no native block")
	assert.Contains(t, all[1], "example.com/app.handles")
	assert.Empty(t, all[2], "is one")
	assert.Equal(t, tree.NodeKeys(tree.GrowForest(r)[:1]), keys(request.TypeNamedSelector("os.File"))[:1], "cut with all others of the type")
}

// cutOf is a finding on what cutting would free.
func cutOf(t *testing.T, b request.Bound, cut func(*cut), roots ...*refscan.Node) *Evaluation {
	t.Helper()
	r := bounded(t, b)
	c := NewBoundsCheck(r, tree.Scope{}, appEnv)
	if cut != nil {
		cut(&c.cuts[0])
	}
	of := report(roots...)
	of.Retained = true
	return Evaluate(observed(of), r, tree.Scope{}, []Check{c})
}

// freeing is a root of which cutting frees some objects, and not others.
func freeing(name string, freed, shared int64) *refscan.Node {
	n := global(node(name, "*example.com/app.Session", freed+shared, 10*(freed+shared)), "", 0)
	n.RetainedObjects, n.RetainedBytes, n.SharedObjects, n.SharedBytes = freed, 10*freed, shared, 10*shared
	return n
}

// A bound on what cutting would free is judged by the branch of which cutting frees most, or by all
// objects of a type at once.
func TestBoundsOnCuts(t *testing.T) {
	objects := func(s request.Selector, n int64) request.Bound {
		return request.Bound{Selector: s, Cut: request.CutLimits{Objects: ref(n)}}
	}
	bytes := func(s request.Selector, n int64) request.Bound {
		return request.Bound{Selector: s, Cut: request.CutLimits{Bytes: ref(n)}}
	}
	set := func(c *cut) {
		c.Set = &refscan.NodeSet{RetainedObjects: 9, RetainedBytes: 90, SharedObjects: 2, SharedBytes: 20}
	}
	all := request.RootSelector("app.*")
	a, b := freeing("example.com/app.a", 3, 0), freeing("example.com/app.b", 5, 4)
	b.RetainedBytes = 20
	one := request.RootSelector("app.b")
	for _, tt := range []struct {
		name     string
		bound    request.Bound
		cut      func(*cut)
		broken   bool
		amount   string
		record   tree.Tally
		culprits []string
	}{
		{"one", objects(one, 5), nil, false, "found 9 objects, 90 B; cutting it would free 5 objects, 20 B, not 4 objects, 40 B that something else holds, too", tree.Tally{Objects: 5, Bytes: 20}, []string{"example.com/app.b"}},
		{"too much of one", objects(one, 4), nil, true, "found 9 objects, 90 B; cutting it would free 5 objects, 20 B, not 4 objects, 40 B that something else holds, too: 1 object more than allowed", tree.Tally{Objects: 5, Bytes: 20}, []string{"example.com/app.b"}},
		{"one of two, objects", objects(all, 4), nil, true, "found 12 objects, 120 B; cutting one of the 2 paths would free up to 5 objects, 30 B: 1 object more than allowed", tree.Tally{Objects: 5, Bytes: 30}, []string{"example.com/app.b", "example.com/app.a"}},
		{"one of two, bytes", bytes(all, 29), nil, true, "found 12 objects, 120 B; cutting one of the 2 paths would free up to 5 objects, 30 B: 1 B more than allowed", tree.Tally{Objects: 5, Bytes: 30}, []string{"example.com/app.a", "example.com/app.b"}},
		{"two that hold", bytes(all, 30), nil, false, "found 12 objects, 120 B; cutting one of the 2 paths would free up to 5 objects, 30 B", tree.Tally{Objects: 5, Bytes: 30}, []string{"example.com/app.b", "example.com/app.a"}},
		{"a type", objects(ofSession, 8), set, true, "found 12 objects, 120 B; cutting all of them would free 9 objects, 90 B, not 2 objects, 20 B that something else holds, too: 1 object more than allowed", tree.Tally{Objects: 9, Bytes: 90}, []string{"example.com/app.b", "example.com/app.a"}},
	} {
		e := cutOf(t, tt.bound, tt.cut, a, b)
		f := e.Findings[0]
		assert.Equal(t, tt.amount, f.Amount, tt.name)
		assert.Equal(t, tt.broken, f.Broken, tt.name)
		assert.Equal(t, tt.culprits, paths(f.Culprits), tt.name)
		assert.Equal(t, tt.record, tree.Tally{Objects: f.Record.RetainedObjects, Bytes: f.Record.RetainedBytes}, tt.name)
		assert.Equal(t, tt.bound.Cut, request.CutLimits{Objects: f.Record.MaxRetainedObjects, Bytes: f.Record.MaxRetainedBytes}, tt.name)
		assert.True(t, f.Freed && !f.Native, tt.name)
	}

	// The bound on objects is broken already, so its culprits stay.
	both := objects(all, 1)
	both.MaxBytes = ref(1)
	f := cutOf(t, both, func(c *cut) {}, a, b).Findings[0]
	assert.True(t, f.Broken)
	assert.Contains(t, f.Amount, "; cutting one of the 2 paths would free up to 5 objects, 30 B: 4 objects more than allowed")
}

// Blocks of C's malloc count beside the objects that cutting frees. If they cannot be counted, a
// bound that seems to hold is in doubt.
func TestBoundsOnNativeCuts(t *testing.T) {
	bound := request.Bound{Selector: request.RootSelector("app.*"), Cut: request.CutLimits{Objects: ref(9), Native: true}}
	a, b := freeing("example.com/app.a", 3, 0), freeing("example.com/app.b", 5, 0)
	e := cutOf(t, bound, func(c *cut) {
		of := report(a, b)
		of.Retained = true
		c.holders = tree.GrowForest(of)
		c.Native = []nativeholders.Sum{{Blocks: 7, Bytes: 700}, {Blocks: 1, Bytes: 10}}
	}, a, b)
	f := e.Findings[0]
	assert.True(t, f.Broken && f.Native)
	assert.Equal(t, "found 8 objects, 80 B; cutting one of the 2 paths would free up to 10 objects, 730 B, of it 7 native blocks, 700 B: 1 object more than allowed", f.Amount)
	assert.Equal(t, []string{"example.com/app.a", "example.com/app.b"}, paths(f.Culprits))
	assert.True(t, f.Trace().Freed)
	assert.True(t, f.Trace().Cut == f.Culprits[0])

	unread := errors.New("not all memory was read")
	e = cutOf(t, bound, func(c *cut) { c.Err = unread }, a, b)
	assert.True(t, e.Ok())
	assert.Equal(t, unread, e.Doubt)
	bound.Cut.Objects = ref(4)
	e = cutOf(t, bound, func(c *cut) { c.Err = unread }, a, b)
	assert.False(t, e.Ok())
	assert.NoError(t, e.Doubt, "it is broken without them")
}
