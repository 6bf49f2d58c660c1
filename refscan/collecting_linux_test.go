//go:build amd64 || arm64

package refscan_test

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

type swept struct {
	next *swept
	_    [6]int
}

// If a program collects garbage by itself while it allocates, the scan is not reported as one that
// misses objects.
func TestProgramThatCollects(t *testing.T) {
	long(t)
	for name, collect := range map[string]func() func(){
		"runtime.GC": func() func() { return func() { runtime.GC() } },
		"memory limit": func() func() {
			before := debug.SetMemoryLimit(1 << 20)
			t.Cleanup(func() { require.EqualValues(t, 1<<20, debug.SetMemoryLimit(before)) })
			return func() { time.Sleep(time.Millisecond) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "memory limit" {
				require.Slow(t)
			}
			scan(t)
			collect := collect()
			stop := make(chan struct{})
			var group sync.WaitGroup
			defer group.Wait()
			defer close(stop)
			again := func(f func()) {
				group.Add(1)
				go func() {
					defer group.Done()
					for {
						select {
						case <-stop:
							return
						default:
							f()
						}
					}
				}()
			}
			again(collect)
			again(func() {
				var list *swept
				for range 2000 {
					list = &swept{next: list}
				}
				runtime.KeepAlive(list)
			})
			rounds := require.Rounds(1, 4)
			if os.Getenv("LEAKGATE_LONG") != "" {
				rounds = 50
			}
			verdicts, tries := 0, 0
			for ; verdicts < rounds && tries < 10*rounds; tries++ {
				r, err := scanned()
				if err != nil {
					require.ErrorContains(t, err, "garbage collections are under way all the time")
					continue
				}
				require.Zero(t, r.Totals.ExtraBytes)
				if r.Totals.MissedBytes > auditLimit(r.Totals) {
					require.True(t, r.Collections > 0 || r.Undecided, "it would be taken for a broken scan: %+v", r.Totals)
					continue
				}
				verdicts++
			}
			t.Logf("unknown: %d of %d", tries-verdicts, tries)
			require.Equal(t, rounds, verdicts, "verdicts in %d tries", tries)
		})
	}
}
