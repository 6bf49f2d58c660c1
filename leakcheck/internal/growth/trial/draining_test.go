package trial

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
)

// Goroutines that wait for their turn pile up if calls are faster, and end. Whether all do is not
// known. A pile that stays is a leak, and so is one beside something else that grows.
func TestDraining(t *testing.T) {
	piled := func(entry string, last int64) *finding.Leak {
		return &finding.Leak{
			Origin: goroutine.Origin{Entry: entry}, Goroutines: new(goroutine.Pile),
			Piled: series.Series{Calls: []int64{100, 200}, Values: []int64{50, last}},
		}
	}
	growth := func(leaks ...*finding.Leak) *finding.Growth { return &finding.Growth{Leaks: leaks} }
	deeper := piled("app.walk", 800)
	deeper.Deepens = true
	for _, tt := range []struct {
		name        string
		before, now *finding.Growth
		drains      bool
	}{
		{"some have ended", growth(piled("app.work", 1000)), growth(piled("app.work", 980)), true},
		{"of two piles", growth(piled("app.work", 1000), piled("app.send", 500)), growth(piled("app.send", 400), piled("app.work", 900)), true},
		{"one has ended", growth(piled("app.work", 1000)), growth(piled("app.work", 999)), false},
		{"none of the other", growth(piled("app.work", 1000), piled("app.send", 500)), growth(piled("app.work", 900), piled("app.send", 500)), false},
		{"another pile", growth(piled("app.work", 1000)), growth(piled("app.send", 900)), false},
		{"a stack", growth(piled("app.walk", 1000)), growth(deeper), false},
		{"memory", growth(piled("app.work", 1000)), growth(piled("app.work", 900), new(finding.Leak)), false},
		{"nothing grows any more", growth(piled("app.work", 1000)), growth(), false},
	} {
		assert.Equal(t, tt.drains, draining(tt.before, tt.now) != nil, tt.name)
	}
}
