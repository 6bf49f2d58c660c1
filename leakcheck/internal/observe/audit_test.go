package observe

import (
	"runtime"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// A scan may differ from the collector's account by half a percent, and miss what freezing takes
// from processors. Beyond that the error tells a program that collects or allocates by itself from
// a scan that is wrong.
func TestAudit(t *testing.T) {
	floor := AuditFloor * int64(runtime.GOMAXPROCS(0))
	const live = 1 << 40
	const mib = 1 << 20
	const report, collects, allocates = "please report this as a bug of leakgate", "stop goroutines that call runtime.GC", "let the goroutines that allocate come to rest"
	for name, c := range map[string]struct {
		report     refscan.Report
		says       []string // nil: it is sound
		onlyMisses bool
	}{
		"exact":                   {refscan.Report{Totals: refscan.Totals{LiveBytes: mib}}, nil, true},
		"nothing alive":           {refscan.Report{}, []string{"no live memory at all", report}, false},
		"misses half a percent":   {refscan.Report{Totals: refscan.Totals{LiveBytes: live, MissedBytes: live / 200}}, nil, true},
		"misses more":             {refscan.Report{Totals: refscan.Totals{LiveBytes: live, MissedBytes: live/200 + 1}}, []string{"the scan does not agree with the garbage collector", report}, true},
		"finds half a percent":    {refscan.Report{Totals: refscan.Totals{LiveBytes: live, ExtraBytes: live / 200}}, nil, true},
		"finds more":              {refscan.Report{Totals: refscan.Totals{LiveBytes: live, ExtraBytes: live/200 + 1}}, []string{report}, false},
		"misses what freezes":     {refscan.Report{Totals: refscan.Totals{LiveBytes: 1, MissedBytes: floor}}, nil, true},
		"misses more than that":   {refscan.Report{Totals: refscan.Totals{LiveBytes: 1, MissedBytes: floor + 1}}, []string{report}, true},
		"finds a little too much": {refscan.Report{Totals: refscan.Totals{LiveBytes: 1, ExtraBytes: 1}}, []string{"found 1 B too much", report}, false},
		"collects":                {refscan.Report{Collections: 2, Totals: refscan.Totals{LiveBytes: 100 * mib, MissedBytes: 4 * mib}}, []string{"of 100.0 MiB alive 4.0 MiB may be either", collects}, true},
		"collects, finds more":    {refscan.Report{Collections: 2, Totals: refscan.Totals{LiveBytes: 100 * mib, MissedBytes: 4 * mib, ExtraBytes: mib}}, []string{report}, false},
		"allocates":               {refscan.Report{Undecided: true, Totals: refscan.Totals{LiveBytes: 100 * mib, MissedBytes: 80 * mib}}, []string{"of 100.0 MiB alive 80.0 MiB may have", allocates}, true},
		"allocates, finds more":   {refscan.Report{Undecided: true, Totals: refscan.Totals{LiveBytes: 100 * mib, MissedBytes: 80 * mib, ExtraBytes: 10 * mib}}, []string{"it missed 80.0 MiB and found 10.0 MiB too much", report}, false},
		"allocates, all is found": {refscan.Report{Undecided: true, Totals: refscan.Totals{LiveBytes: 100 * mib}}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.onlyMisses, OnlyMisses(&c.report))
			err := Audit(&c.report)
			if c.says == nil {
				require.NoError(t, err)
				return
			}
			var unavailable *refscan.UnavailableError
			require.ErrorAs(t, err, &unavailable)
			for _, text := range c.says {
				assert.Contains(t, unavailable.Cause+"\n"+unavailable.Remedy, text)
			}
		})
	}
}
