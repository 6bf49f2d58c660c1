//go:build go1.26

package refscan_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

var churned [4][][]byte

// In a program that is at work, objects die between the collection and the snapshot. They do not
// count as missed.
func TestSecondLook(t *testing.T) {
	long(t)
	require.Slow(t)
	churn(t)
	looked := 0
	for try := 0; looked < 5 && try < 50; try++ {
		s, err := refscan.Capture(refscan.WithoutSettling())
		if err != nil {
			unavailable := new(refscan.UnavailableError)
			require.ErrorAs(t, err, &unavailable)
			assert.Contains(t, unavailable.Cause, "garbage collections are under way")
			continue
		}
		r, err := s.Scan()
		require.NoError(t, err)
		taken := s.RemarkTaken()
		require.NoError(t, s.Close())
		tot := r.Totals
		assert.Zero(t, tot.ExtraBytes, "%+v", tot)
		assert.GreaterOrEqual(t, tot.LiveObjects, tot.AttributedObjects, "%+v", tot)
		assert.Equal(t, !taken, r.Undecided)
		if taken {
			looked++
			assert.Zero(t, r.Collections, "the program does not collect by itself")
			assert.LessOrEqual(t, tot.MissedBytes, max(tot.LiveBytes/200, maxMissed*int64(runtime.GOMAXPROCS(0))), "%+v", tot)
		}
	}
	require.Positive(t, looked, "no snapshot had a second look")
}

// Without a collection after the snapshot, objects that may just have died are not reported as an
// error of the scan.
func TestWithoutSecondLook(t *testing.T) {
	long(t)
	churn(t)
	r, err := scanned(refscan.WithoutSettling(), refscan.WithoutSecondLook())
	require.NoError(t, err)
	assert.True(t, r.Undecided)
	assert.Zero(t, r.Totals.ExtraBytes, "%+v", r.Totals)
}

// churn starts goroutines that allocate and drop memory until the test ends.
func churn(t *testing.T) {
	t.Helper()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range churned {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				batch := make([][]byte, 0, 1000)
				for range 1000 {
					batch = append(batch, make([]byte, 1024))
				}
				churned[i] = batch
				runtime.Gosched()
			}
		})
	}
	t.Cleanup(func() {
		close(stop)
		wg.Wait()
		churned = [4][][]byte{}
	})
}
