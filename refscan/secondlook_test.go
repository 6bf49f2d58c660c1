package refscan_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/refscan"
)

var churned [4][][]byte

// In a program that goes on working, memory dies between the collection and the snapshot. That is not missed.
func TestSecondLook(t *testing.T) {
	long(t)
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
	defer func() {
		close(stop)
		wg.Wait()
		churned = [4][][]byte{}
	}()
	worst := int64(0)
	for range 10 {
		s, err := refscan.Capture(refscan.WithoutSettling())
		if err != nil {
			unavailable := new(refscan.UnavailableError)
			require.ErrorAs(t, err, &unavailable)
			assert.Contains(t, unavailable.Cause, "garbage collections are under way")
			continue
		}
		time.Sleep(time.Millisecond)
		r, err := s.Scan()
		require.NoError(t, err)
		require.NoError(t, s.Close())
		tot := r.Totals
		assert.Zero(t, tot.ExtraBytes, "%+v", tot)
		assert.LessOrEqual(t, tot.MissedBytes, max(tot.LiveBytes/200, maxMissed*int64(runtime.GOMAXPROCS(0))), "%+v", tot)
		assert.GreaterOrEqual(t, tot.LiveObjects, tot.AttributedObjects, "%+v", tot)
		worst = max(worst, tot.MissedBytes)
	}
	t.Logf("missed at most %d B", worst)
}
