package compare

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/internal/verdict"
)

func holding(a *outcome.Assertion, objects, bytes int64) *outcome.Assertion {
	a.RetainedObjects, a.RetainedBytes = objects, bytes
	return a
}

// TestSites numbers places, not lines: a test whose lines moved is the same test.
func TestSites(t *testing.T) {
	first, second := asserted("TestA", 10, verdict.Pass), asserted("TestA", 20, verdict.Pass)
	other, again := asserted("TestB", 30, verdict.Pass), asserted("TestA", 10, verdict.Pass)
	order, at := Sites(runOf(first, second, other, again))
	a1, a2, b1 := Site{"example.com/app", "TestA", 1}, Site{"example.com/app", "TestA", 2}, Site{"example.com/app", "TestB", 1}
	require.Equal(t, []Site{a1, a2, b1}, order)
	assert.Equal(t, map[Site][]*outcome.Assertion{a1: {first, again}, a2: {second}, b1: {other}}, at)
	assert.Equal(t, "TestA", a1.String())
	assert.Equal(t, "TestA #2", a2.String())

	moved, _ := Sites(runOf(asserted("TestA", 110, verdict.Pass), asserted("TestA", 120, verdict.Pass), asserted("TestB", 130, verdict.Pass)))
	assert.Equal(t, order, moved)

	order, at = Sites(&outcome.Run{})
	assert.Empty(t, order)
	assert.Empty(t, at)
}

func TestRuns(t *testing.T) {
	untold := holding(asserted("TestA", 1, verdict.Unknown), 0, 0)
	untold.Totals.LiveBytes = 0
	before := runOf(
		holding(asserted("TestGone", 1, verdict.Pass), 3, 30),
		holding(asserted("TestA", 1, verdict.Pass, kept("x", 1, 8), kept("x", 2, 16), kept("old", 4, 32)), 10, 100),
		holding(asserted("TestA", 1, verdict.Pass, kept("x", 3, 24)), 12, 120),
		untold,
	)
	after := runOf(
		holding(asserted("TestNew", 5, verdict.Pass), 1, 10),
		holding(asserted("TestA", 7, verdict.Fail, kept("x", 1, 8), broken("x", 5, 40), kept("new", 6, 48)), 15, 150),
		holding(asserted("TestA", 7, verdict.Pass), 14, 140),
	)
	const app = "example.com/app"
	assert.Equal(t, []Row{
		{Group: app, Name: "TestNew", Objects: Change{nil, Series{1}}, Bytes: Change{nil, Series{10}}, Verdict: [2]string{"", "pass"}},
		// The unknown assertion adds no figures, but a verdict.
		{Group: app, Name: "TestA", Objects: Change{Series{10, 12}, Series{15, 14}}, Bytes: Change{Series{100, 120}, Series{150, 140}}, Verdict: [2]string{"unknown", "fail"}},
		{Group: app, Name: "x", Depth: 1, Objects: Change{Series{1, 3}, Series{1}}, Bytes: Change{Series{8, 24}, Series{8}}},
		{Group: app, Name: "x #2", Depth: 1, Objects: Change{Series{2}, Series{5}}, Bytes: Change{Series{16}, Series{40}}},
		{Group: app, Name: "new", Depth: 1, Objects: Change{nil, Series{6}}, Bytes: Change{nil, Series{48}}},
		{Group: app, Name: "old", Depth: 1, Objects: Change{Series{4}, nil}, Bytes: Change{Series{32}, nil}},
		{Group: app, Name: "TestGone", Objects: Change{Series{3}, nil}, Bytes: Change{Series{30}, nil}, Verdict: [2]string{"pass", ""}},
	}, Runs(before, after))
}

// A bound on retained sizes has a row of its own for them.
func TestRunsRetained(t *testing.T) {
	limit := int64(64)
	dominating := func(objects, bytes int64) verdict.Bound {
		b := retaining(kept("x", 1, 8), objects, bytes)
		b.MaxRetainedBytes = &limit
		return b
	}
	before := runOf(asserted("TestA", 1, verdict.Pass, dominating(5, 40), dominating(6, 48), kept("y", 1, 8)))
	after := runOf(asserted("TestA", 1, verdict.Pass, dominating(7, 56), kept("x", 1, 8), kept("y", 1, 8)))
	const app = "example.com/app"
	one, same := Change{Series{1}, Series{1}}, Change{Series{8}, Series{8}}
	assert.Equal(t, []Row{
		{Group: app, Name: "x", Depth: 1, Objects: one, Bytes: same},
		{Group: app, Name: "x retained", Depth: 1, Objects: Change{Series{5}, Series{7}}, Bytes: Change{Series{40}, Series{56}}},
		{Group: app, Name: "x #2", Depth: 1, Objects: one, Bytes: same},
		{Group: app, Name: "y", Depth: 1, Objects: one, Bytes: same},
		{Group: app, Name: "x #2 retained", Depth: 1, Objects: Change{Series{6}, nil}, Bytes: Change{Series{48}, nil}},
	}, Runs(before, after)[1:])
}
