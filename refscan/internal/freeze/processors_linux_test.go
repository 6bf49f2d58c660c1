//go:build linux && (amd64 || arm64)

package freeze

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

// A program that changes GOMAXPROCS all the time gets a snapshot or is told why not.
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
	for range 30 {
		p, err := Take()
		if err != nil {
			require.ErrorContains(t, err, "GOMAXPROCS keeps changing")
			continue
		}
		var word [8]byte
		require.NoError(t, p.Read(addressOf(&answer), word[:]))
		require.NoError(t, p.Close())
	}
}

// Package testing turns automatic updating off, so this takes a program outside of tests.
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
