package scanreport

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/leakgate/leakgate/refscan"
)

// Self names this process, as Scan.Source does.
func Self() string { return fmt.Sprintf("process %d", os.Getpid()) }

// TakeSelf scans a snapshot of this process, as it is after one garbage collection. ctx bounds the
// preparations.
func TakeSelf(ctx context.Context, scan ...refscan.ScanOption) (*Scan, error) {
	exe, _ := os.Executable()
	s := &Scan{Source: Self(), Program: exe, Taken: time.Now().Round(time.Millisecond)}
	snapshot, err := refscan.Capture(refscan.WithContext(ctx), refscan.WithoutSettling())
	if err != nil {
		return nil, err
	}
	s.Report, err = snapshot.Scan(scan...)
	if err := errors.Join(err, snapshot.Close()); err != nil {
		return nil, err
	}
	return s, nil
}
