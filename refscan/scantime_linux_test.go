package refscan_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

type longNode struct{ next *longNode }

var longList *longNode

// Scans end with an error when their deadline has passed, and go on where it was only cancelled.
func TestScansWithin(t *testing.T) {
	for range 200_000 {
		longList = &longNode{longList}
	}
	defer func() { longList = nil }()
	past, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	cancelled, cancel := context.WithTimeout(context.Background(), time.Hour)
	cancel()
	whole := func(string, *refscan.RootInfo) refscan.Match { return refscan.Selected }
	for ctx, ends := range map[context.Context]bool{past: true, cancelled: false} {
		s, err := refscan.Capture(snapshot.ScansWithin{Context: ctx})
		require.NoError(t, err)
		_, scan := s.Scan()
		_, held := s.Held(whole)
		require.NoError(t, s.Close())
		for _, err := range []error{scan, held} {
			require.Equal(t, ends, errors.Is(err, context.DeadlineExceeded), err)
			if ends {
				require.Equal(t, "refscan: the time was up before the scan had ended: context deadline exceeded", err.Error())
			}
		}
	}
}
