package refscan_test

import (
	"errors"
	"runtime"

	"github.com/leakgate/leakgate/refscan"
)

// auditLimit is how many bytes package leakcheck lets a scan miss.
func auditLimit(t refscan.Totals) int64 {
	return max(t.LiveBytes/200, int64(32<<10*runtime.GOMAXPROCS(0)))
}

// scanned returns the report of a new snapshot.
func scanned(opts ...refscan.CaptureOption) (*refscan.Report, error) {
	s, err := refscan.Capture(opts...)
	if err != nil {
		return nil, err
	}
	r, err := s.Scan()
	return r, errors.Join(err, s.Close())
}
