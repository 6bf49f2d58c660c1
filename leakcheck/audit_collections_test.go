package leakcheck

import (
	"strings"
	"testing"

	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/refscan"
)

// The audit distinguishes a program that collects by itself from a scan that misses objects.
func TestAuditOfProgramThatCollects(t *testing.T) {
	r := &refscan.Report{Totals: refscan.Totals{LiveBytes: 10 << 20, MissedBytes: 4 << 20}}
	if err := observe.Audit(r); err == nil || !strings.Contains(err.Error(), "report this") {
		t.Errorf("without collections: %v", err)
	}
	r.Collections = 2
	if err := observe.Audit(r); err == nil || !strings.Contains(err.Error(), "stop the goroutine that calls runtime.GC") {
		t.Errorf("with collections: %v", err)
	}
	r.Totals.ExtraBytes = 1 << 20 // no collection explains that
	if err := observe.Audit(r); err == nil || !strings.Contains(err.Error(), "report this") {
		t.Errorf("with too much: %v", err)
	}
}

// The audit also recognises a program that goes on allocating, if no collection after the snapshot
// told which objects had just died.
func TestAuditOfProgramThatAllocates(t *testing.T) {
	r := &refscan.Report{Undecided: true, Totals: refscan.Totals{LiveBytes: 100 << 20, MissedBytes: 80 << 20}}
	if err := observe.Audit(r); err == nil || !strings.Contains(err.Error(), "the program goes on allocating") || !strings.Contains(err.Error(), "80.0 MiB") {
		t.Errorf("undecided: %v", err)
	}
	r.Totals.MissedBytes = 0
	if err := observe.Audit(r); err != nil {
		t.Errorf("nothing missed: %v", err)
	}
	r.Totals.ExtraBytes = 10 << 20
	if err := observe.Audit(r); err == nil || !strings.Contains(err.Error(), "report this") {
		t.Errorf("with too much: %v", err)
	}
}
