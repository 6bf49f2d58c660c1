package compare

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/internal/verdict"
)

// runOf makes a run of one package.
func runOf(assertions ...*outcome.Assertion) *outcome.Run {
	return &outcome.Run{Packages: []*outcome.Package{{ImportPath: "example.com/app", Assertions: assertions}}}
}

// asserted makes an assertion that scanned memory, and that has a finding if it fails.
func asserted(test string, line int, v verdict.Verdict, bounds ...verdict.Bound) *outcome.Assertion {
	a := &outcome.Assertion{Result: verdict.Result{Test: test, File: "app_test.go", Line: line, Verdict: v, Bounds: bounds}}
	a.Totals.LiveBytes = 1 << 20
	if v == verdict.Fail {
		a.Findings = []outcome.Finding{{}}
	}
	return a
}

func broken(selector string, objects, bytes int64) verdict.Bound {
	return verdict.Bound{Selector: selector, Objects: objects, Bytes: bytes, Verdict: verdict.Fail}
}

func kept(selector string, objects, bytes int64) verdict.Bound {
	b := broken(selector, objects, bytes)
	b.Verdict = verdict.Pass
	return b
}

func retaining(b verdict.Bound, objects, bytes int64) verdict.Bound {
	b.RetainedObjects, b.RetainedBytes = objects, bytes
	return b
}

func misused(a *outcome.Assertion) *outcome.Assertion {
	a.Misuse = true
	return a
}

func TestAgainstKnows(t *testing.T) {
	fail := func(bounds ...verdict.Bound) *outcome.Assertion { return asserted("Test", 1, verdict.Fail, bounds...) }
	golden := fail()
	golden.Golden = &verdict.Golden{Status: "mismatch"}
	for name, c := range map[string]struct {
		now   *outcome.Assertion
		base  []*outcome.Assertion
		known bool
	}{
		"as much":                    {fail(broken("a", 5, 80)), []*outcome.Assertion{fail(broken("a", 5, 80))}, true},
		"less":                       {fail(broken("a", 4, 64)), []*outcome.Assertion{fail(broken("a", 5, 80))}, true},
		"more objects":               {fail(broken("a", 6, 80)), []*outcome.Assertion{fail(broken("a", 5, 80))}, false},
		"more bytes":                 {fail(broken("a", 5, 81)), []*outcome.Assertion{fail(broken("a", 5, 80))}, false},
		"as much retained":           {fail(retaining(broken("a", 1, 8), 9, 99)), []*outcome.Assertion{fail(retaining(broken("a", 1, 8), 9, 99))}, true},
		"more bytes retained":        {fail(retaining(broken("a", 1, 8), 9, 100)), []*outcome.Assertion{fail(retaining(broken("a", 1, 8), 9, 99))}, false},
		"more objects retained":      {fail(retaining(broken("a", 1, 8), 10, 99)), []*outcome.Assertion{fail(retaining(broken("a", 1, 8), 9, 99))}, false},
		"another bound":              {fail(broken("b", 5, 80)), []*outcome.Assertion{fail(broken("a", 5, 80))}, false},
		"one bound more":             {fail(broken("a", 5, 80), broken("b", 1, 8)), []*outcome.Assertion{fail(broken("a", 5, 80))}, false},
		"one bound less":             {fail(broken("b", 1, 8)), []*outcome.Assertion{fail(broken("a", 5, 80), broken("b", 1, 8))}, true},
		"two of the same words":      {fail(broken("a", 5, 80), broken("a", 5, 80)), []*outcome.Assertion{fail(broken("a", 5, 80))}, false},
		"it held before":             {fail(broken("a", 5, 80)), []*outcome.Assertion{fail(kept("a", 5, 80), broken("b", 1, 8))}, false},
		"others that hold":           {fail(broken("a", 5, 80), kept("b", 9, 900)), []*outcome.Assertion{fail(broken("a", 5, 80))}, true},
		"no figures":                 {fail(), []*outcome.Assertion{fail()}, true},
		"no figures, passed before":  {fail(), []*outcome.Assertion{asserted("Test", 1, verdict.Pass)}, false},
		"no figures, unknown before": {fail(), []*outcome.Assertion{asserted("Test", 1, verdict.Unknown)}, false},
		"misuse that is new":         {misused(fail()), []*outcome.Assertion{fail()}, false},
		"misuse before":              {fail(), []*outcome.Assertion{misused(fail())}, false},
		"misuse, still":              {misused(fail()), []*outcome.Assertion{misused(fail())}, true},
		"in one of several runs":     {fail(broken("a", 5, 80)), []*outcome.Assertion{fail(broken("a", 1, 8)), fail(broken("a", 5, 80))}, true},
		"golden":                     {golden, []*outcome.Assertion{fail()}, false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Zero(t, Against(runOf(c.now), runOf(c.base...)))
			assert.Equal(t, c.known, c.now.Known)
			assert.Equal(t, c.known, c.now.Findings == nil, "what is known is no finding, and what is new stays one")
		})
	}
}

func TestAgainstLeavesOthers(t *testing.T) {
	passes, unknown := asserted("TestA", 1, verdict.Pass), asserted("TestB", 1, verdict.Unknown)
	added, again := asserted("TestC", 9, verdict.Fail), asserted("TestC", 9, verdict.Fail)
	elsewhere := asserted("TestD", 1, verdict.Fail)
	run := runOf(passes, unknown, added, again)
	run.Packages = append(run.Packages, &outcome.Package{ImportPath: "example.com/other", Assertions: []*outcome.Assertion{elsewhere}})
	base := runOf(asserted("TestA", 1, verdict.Fail), asserted("TestB", 1, verdict.Fail), asserted("TestD", 1, verdict.Fail))

	assert.Equal(t, 3, Against(run, base), "TestC ran twice, and TestD is of another package")
	for _, a := range []*outcome.Assertion{passes, unknown, added, again, elsewhere} {
		assert.False(t, a.Known, a.Test)
	}
	assert.NotEmpty(t, added.Findings)
}

// A bound that also fails in the base is known, whichever test feeds it; a new one is not.
func TestAgainstRoots(t *testing.T) {
	grows := func(test string, selectors ...string) *outcome.Assertion {
		a := &outcome.Assertion{Result: verdict.Result{Test: test, Verdict: verdict.Fail}}
		for i, s := range selectors {
			a.Bounds = append(a.Bounds, verdict.Bound{Selector: s, Verdict: verdict.Fail, Objects: int64(i) + 7})
			a.Findings = append(a.Findings, outcome.Finding{Selector: s})
		}
		return a
	}
	of := func(all ...*outcome.Assertion) *outcome.Run {
		return &outcome.Run{Packages: []*outcome.Package{{Assertions: all}}}
	}
	old, mixed, fresh := grows("TestA", "one"), grows("TestB", "one", "two"), grows("TestC", "three")
	passed := &outcome.Assertion{Result: verdict.Result{Test: "TestD", Verdict: verdict.Pass}}
	AgainstRoots(of(old, mixed, fresh, passed), of(grows("TestX", "one")))
	assert.True(t, old.Known)
	assert.Empty(t, old.Findings)
	assert.False(t, mixed.Known)
	assert.Equal(t, []outcome.Finding{{Selector: "two"}}, mixed.Findings)
	assert.False(t, fresh.Known)
	assert.False(t, passed.Known)
}
