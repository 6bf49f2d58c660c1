package peak

import (
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/realtime"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

// A mark phase that found more than the bound is never behind a pass, unless enough snapshots of
// further calls show no more than the bound.
func TestDoubts(t *testing.T) {
	for _, tt := range []struct {
		name         string
		phases       int
		iterations   int
		taken, tries int
		began        time.Duration // ago
		settled      bool
		want         verdict.Verdict
	}{
		{name: "none", settled: true, want: verdict.Pass},
		{name: "no snapshot yet", phases: 1, want: verdict.Unknown},
		{name: "one of four", phases: 1, taken: 1, tries: 1, want: verdict.Unknown},
		{name: "four", phases: 1, taken: 4, tries: 4, settled: true, want: verdict.Pass},
		{name: "four of eight", phases: 6, taken: 4, tries: 4, want: verdict.Unknown},
		{name: "eight", phases: 6, taken: 8, tries: 9, settled: true, want: verdict.Pass},
		{name: "too late each time", phases: 6, tries: settleTries, began: 2 * settleTime, settled: true, want: verdict.Unknown},
		{name: "no more time", phases: 6, taken: 7, tries: 8, began: 5 * settleTime, settled: true, want: verdict.Unknown},
		{name: "op is not to be called again", phases: 1, iterations: 3, settled: true, want: verdict.Unknown},
	} {
		x := &experiment{
			Assertion: assertion.ThisProcess().Begin(t, environ.Site{}, &request.Request{}),
			req:       &Request{Most: 10}, allocated: 100, looks: 9, calls: 9,
		}
		x.req.Iterations = tt.iterations
		for range tt.phases {
			x.doubts.add(&peak{found: 30})
		}
		x.doubts.areSettled(x) // begins to settle
		x.doubts.taken, x.doubts.tries = tt.taken, tt.tries
		if tt.began > 0 {
			x.doubts.since = realtime.Clock() - tt.began
		}
		assert.Equal(t, tt.settled, x.doubts.areSettled(x), tt.name)
		assert.Equal(t, tt.want, x.conclude().Verdict, tt.name)
	}
}
