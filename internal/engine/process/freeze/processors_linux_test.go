//go:build linux && (amd64 || arm64) && go1.26

package freeze

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestProcessorsAreRestored(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, n := range []int{1, 2, 3, 8, 64} {
		runtime.GOMAXPROCS(n)
		p := takeForTest(t)
		assert.Equal(t, n, runtime.GOMAXPROCS(0))
		require.NoError(t, p.Close())
	}
}

// A program that changes GOMAXPROCS all the time gets a snapshot, or an error that says so.
func TestProcessorsChangedMeanwhile(t *testing.T) {
	nothingLeft(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; !stop.Load(); n++ {
			runtime.GOMAXPROCS(2 + n%2)
		}
	})
	defer wg.Wait()
	defer stop.Store(true)
	for range require.Rounds(4, 30) {
		p, err := Take()
		if err != nil {
			require.ErrorContains(t, err, "GOMAXPROCS keeps changing")
			continue
		}
		var word [8]byte
		require.NoError(t, p.read(addressOf(&answer), word[:]))
		require.NoError(t, p.Close())
	}
}

// Another goroutine increments counted.
var counted atomic.Int64

// The process is frozen when it is ready; until then, other goroutines run.
func TestTakeWhenReady(t *testing.T) {
	nothingLeft(t)
	for _, procs := range []int{1, 4} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		counted.Store(0)
		var stop atomic.Bool
		var wg sync.WaitGroup
		wg.Go(func() {
			for !stop.Load() {
				counted.Add(1)
				runtime.Gosched()
			}
		})
		seen := int64(0)
		p, err := TakeWhen(func() bool {
			seen = counted.Load()
			return seen >= 1000
		})
		stop.Store(true)
		wg.Wait()
		require.NoError(t, err)
		var word [8]byte
		require.NoError(t, p.read(addressOf(&counted), word[:]))
		frozen := int64(binary.NativeEndian.Uint64(word[:]))
		assert.GreaterOrEqual(t, frozen, seen)
		assert.GreaterOrEqual(t, seen, int64(1000))
		require.NoError(t, p.Close())
	}
}

func TestNeverReady(t *testing.T) {
	nothingLeft(t)
	defer func(d time.Duration) { maxReadyWait = d }(maxReadyWait)
	maxReadyWait = 0
	procs := runtime.GOMAXPROCS(0)
	_, err := TakeWhen(func() bool { return false })
	require.ErrorIs(t, err, ErrNotReady)
	require.Equal(t, procs, runtime.GOMAXPROCS(0))
}

// Package testing turns automatic updating off, so this test needs a program outside of tests.
func TestAutomaticUpdatingIsRestored(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command to build the program with")
	}
	program := filepath.Join(t.TempDir(), "processors")
	out, err := exec.Command("go", "build", "-o", program, "./testdata/processors").CombinedOutput()
	require.NoError(t, err, "%s", out)

	standard := runtime.NumCPU()
	tests := []struct {
		name, environment string
		arguments         []string
		want              string
	}{
		{"as started", "", nil, fmt.Sprintf("%d true\n", standard)},
		{"set by the environment", "5", nil, "5 false\n"},
		{"set by the environment to the default", fmt.Sprint(standard), nil, fmt.Sprintf("%d false\n", standard)},
		{"environment makes no sense", "none", nil, fmt.Sprintf("%d true\n", standard)},
		{"set by the program", "", []string{"7"}, "7 false\n"},
		{"set to one", "", []string{"1"}, "1 false\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.Command(program, tt.arguments...)
			cmd.Env = append(os.Environ(), "GOMAXPROCS="+tt.environment, "GODEBUG=containermaxprocs=0")
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.Equal(t, tt.want, string(out))
		})
	}
}
