package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/leakgate/leakgate/refscan"
	"github.com/leakgate/leakgate/refscan/foreign"
	"github.com/leakgate/leakgate/refscan/scanreport"
)

// A process is a running process, as the command line names it.
type process struct {
	PID    int
	Exe    string // the unstripped file of the same build; "" for the file that the process runs
	NoFork bool   // the process is not forked, but stopped until it has been read
	Audit  bool   // Scan waits for the process's next garbage collection and compares
}

// Name returns the name of the process in reports.
func (p *process) Name() string { return fmt.Sprintf("process %d", p.PID) }

// Program returns the file that the process runs, "" if unknown.
func (p *process) Program() string {
	exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.PID))
	return exe
}

// Options returns the options for package foreign.
func (p *process) Options() (opts []foreign.ProcessOption) {
	if p.Exe != "" {
		opts = append(opts, foreign.WithExecutable(p.Exe))
	}
	if p.NoFork {
		opts = append(opts, foreign.WithoutFork())
	}
	return opts
}

// Scan takes a snapshot of the process, and scans it. look is called with the snapshot while it is
// open; it may be nil.
func (p *process) Scan(ctx context.Context, look func(*foreign.Process)) (*scanreport.Scan, error) {
	scan := &scanreport.Scan{Source: p.Name(), Program: p.Program(), Taken: time.Now().Round(time.Millisecond)}
	opened, err := p.open(ctx, scan, look)
	if err != nil {
		return nil, err
	}
	scan.Report.Pause, scan.Attempts, scan.NotForked, scan.Faults = opened.Paused(), opened.Attempts, opened.NotForked, opened.Faults()
	return scan, nil
}

// open fills in the report of a scan, and its audit. The process that it returns is closed.
func (p *process) open(ctx context.Context, scan *scanreport.Scan, look func(*foreign.Process)) (opened *foreign.Process, err error) {
	if p.Audit {
		var a *foreign.Audit
		opened, scan.Report, a, err = foreign.ScanAudited(ctx, p.PID, []refscan.ScanOption{refscan.WithRetained()}, p.Options()...)
		if err == nil {
			scan.Audit = &scanreport.Audit{MissedObjects: a.MissedObjects, MissedBytes: a.MissedBytes, Waited: a.Waited}
		}
		return opened, err
	}
	if opened, err = foreign.OpenProcess(ctx, p.PID, p.Options()...); err != nil {
		return nil, err
	}
	scan.Report, err = opened.Scan(refscan.WithRetained())
	if look != nil {
		look(opened)
	}
	// Close even if the scan fails: the process must not stay stopped, and its copy must not stay.
	return opened, errors.Join(err, opened.Close())
}
