package leakcheck_test

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck"
)

type wanderer struct{ _ *wanderer }

var wanderingPlaces struct{ here, there []*wanderer }

type stroller struct{ _ *stroller }

var strollers []*stroller

// Objects that are at another place at each snapshot grow at none of them. They are found
// nevertheless. A collection that fills up is no leak, whatever its place.
func TestGrowthOfWhatMoves(t *testing.T) {
	fillCut(t)
	places := &wanderingPlaces
	t.Cleanup(func() { places.here, places.there = nil, nil })
	for _, most := range []int{1 << 20, 15} {
		places.here, places.there = nil, nil
		calls := 0
		ft := &impatientT{recordingT{name: t.Name()}}
		passed := leakcheck.AssertNoGrowth(ft, func() {
			calls++
			from, to := &places.here, &places.there
			if calls <= 10 || calls > 20 && calls <= 40 || calls > 80 {
				from, to = to, from
			}
			*to = append(*to, *from...)
			*from = nil
			if len(*to) < most {
				*to = append(*to, &wanderer{})
			}
		}, leakcheck.Iterations(10), leakcheck.Warmup(10))
		message := strings.Join(ft.errors, "\n")
		if most == 15 {
			if !passed {
				t.Error(message)
			}
			continue
		}
		if passed {
			t.Error("passed", ft.logs)
		}
		wantParts(t, message, "+1.00 *leakcheck_test.wanderer/op", "leakcheck_test.wanderingPlaces.here", "10 → 20 → 40 → 80 → 160",
			"counted wherever they are")
	}
}

// Older objects that go while op is called hide growth at the same place. The experiment begins
// anew, also if something else grew until then.
func TestGrowthBehindAFall(t *testing.T) {
	fillCut(t)
	places := &wanderingPlaces
	t.Cleanup(func() { places.here, strollers = nil, nil })
	fillsUp := []int{0, 40, 80} // until which call another list does
	for i := 0; i < len(fillsUp); i += require.Rounds(2, 1) {
		until := fillsUp[i]
		places.here, strollers = make([]*wanderer, 100, 1000), nil
		for i := range places.here {
			places.here[i] = &wanderer{}
		}
		calls := 0
		ft := &impatientT{recordingT{name: t.Name()}}
		if leakcheck.AssertNoGrowth(ft, func() {
			if calls++; calls == 11 { // the first after a snapshot
				clear(places.here[:100])
			}
			if calls <= until { // and not in the last of the batches, 10, 20, 40, and 80 calls
				strollers = append(strollers, &stroller{})
			}
			places.here = append(places.here, &wanderer{})
		}, leakcheck.Iterations(10), leakcheck.Warmup(10)) {
			t.Error(until, "passed", ft.logs)
		}
		wantParts(t, strings.Join(ft.errors, "\n"), "+1.00 *leakcheck_test.wanderer/op", "leakcheck_test.wanderingPlaces.here",
			"objects: 20 → ")
	}
}

// steps is an array that is allocated in steps, each twice as large as the one before.
var steps []int

// If an experiment begins anew, batches are so large that each has such a step.
func TestStepsBehindAFall(t *testing.T) {
	fillCut(t)
	places := &wanderingPlaces
	places.here, steps = nil, nil
	t.Cleanup(func() { places.here, steps = nil, nil })
	for range 100 {
		places.here = append(places.here, &wanderer{})
	}
	calls := 0
	ft := &impatientT{recordingT{name: t.Name()}}
	if leakcheck.AssertNoGrowth(ft, func() {
		if calls++; calls == 100 { // in the last of the batches, 10, 20, 40 and 80 calls
			places.here, steps = nil, nil
		}
		steps = append(steps, calls)
	}, leakcheck.Iterations(10), leakcheck.Warmup(10)) {
		t.Error("passed", ft.logs)
	}
	wantParts(t, strings.Join(ft.errors, "\n"), "B/op in []int via ", "leakcheck_test.steps")
}

// If files seem to grow at first, a batch has extra calls beside those that double. Memory that is
// allocated in steps still grows in each.
func TestStepsBesideFiles(t *testing.T) {
	fillCut(t)
	t.Setenv("TMPDIR", t.TempDir()) // another process that runs this test makes files of the same name
	t.Cleanup(func() { steps = nil })
	for range require.Rounds(1, 4) { // the number of extra calls is random
		steps = nil
		calls := 0
		ft := &impatientT{recordingT{name: t.Name()}}
		if leakcheck.AssertNoGrowth(ft, func() {
			if calls++; 15 < calls && calls <= 30 {
				f, err := os.CreateTemp("", "leakgate-steps-*")
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, os.Remove(f.Name())) })
				require.NoError(t, f.Close())
			}
			steps = append(steps, calls)
		}, leakcheck.Iterations(15), leakcheck.Warmup(15)) {
			t.Error("passed", ft.logs)
		}
		wantParts(t, strings.Join(ft.errors, "\n"), "B/op in []int via ", "leakcheck_test.steps")
		if runtime.GOOS == "linux" && strings.Contains(strings.Join(ft.errors, "\n"), "15, 30, 60, 120 and 240 calls") {
			t.Error("no batch was odd")
		}
	}
}

// A figure that falls again and again is named.
func TestPassBehindAFall(t *testing.T) {
	fillCut(t)
	places := &wanderingPlaces
	t.Cleanup(func() { places.here = nil })
	places.here = nil
	for range 1000 {
		places.here = append(places.here, &wanderer{})
	}
	ft := &impatientT{recordingT{name: t.Name()}}
	if !leakcheck.AssertNoGrowth(ft, func() {
		last := len(places.here) - 1
		places.here[last] = nil
		places.here = places.here[:last]
	}, leakcheck.Iterations(10), leakcheck.Warmup(10)) {
		t.Error(ft.errors)
	}
	wantParts(t, strings.Join(ft.logs, "\n"),
		"fell while op was called, which may hide as much growth: via github.com/leakgate/leakgate/leakcheck_test.wanderingPlaces.here[*]: objects: ")
}
