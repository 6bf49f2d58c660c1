package compare

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/internal/verdict"
)

func TestUnmeasured(t *testing.T) {
	compared := func(test string, v verdict.Verdict) *outcome.Assertion {
		a := asserted(test, 1, v)
		a.Golden = &verdict.Golden{Status: "match"}
		return a
	}
	run := runOf(compared("TestA", verdict.Pass), compared("TestB", verdict.Pass), compared("TestC", verdict.Fail),
		asserted("TestBound", 1, verdict.Pass), compared("TestNew", verdict.Pass))
	base := runOf(compared("TestA", verdict.Pass), compared("TestB", verdict.Unknown), compared("TestC", verdict.Unknown))
	a, b, added := Site{"example.com/app", "TestA", 1}, Site{"example.com/app", "TestB", 1}, Site{"example.com/app", "TestNew", 1}

	cut, unknown := Unmeasured(run, base)
	assert.Empty(t, cut)
	assert.Equal(t, []Site{b}, unknown)

	base.Packages[0].Crashed = true
	cut, unknown = Unmeasured(run, base)
	assert.Equal(t, []Site{added}, cut, "it may be new, or have come after the crash")
	assert.Equal(t, []Site{b}, unknown)

	base.Packages[0].Assertions[0] = misused(compared("TestA", verdict.Fail))
	_, unknown = Unmeasured(run, base)
	assert.Equal(t, []Site{a, b}, unknown)

	cut, unknown = Unmeasured(run, &outcome.Run{})
	assert.Empty(t, append(cut, unknown...), "a base without the package")
}
