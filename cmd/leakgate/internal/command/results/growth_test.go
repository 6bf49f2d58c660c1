package results

import (
	"bytes"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// growsStack needs more stack at each level, so that its goroutine's stack is copied again and
// again.
//
//go:noinline
func growsStack(depth int, done chan<- struct{}) {
	var frame [64 << 10]byte
	frame[depth] = 1
	if depth > 0 {
		growsStack(depth-1, done)
	} else {
		done <- struct{}{}
	}
	frame[1000+depth]++
}

func TestGrowth(t *testing.T) {
	// A CPU profile has a hundred samples a second, so the loop repeats until one of them shows
	// growsStack.
	for deadline := time.Now().Add(time.Minute); ; {
		var cpu bytes.Buffer
		require.NoError(t, pprof.StartCPUProfile(&cpu))
		done := make(chan struct{})
		for end := time.Now().Add(time.Second); time.Now().Before(end); {
			go growsStack(100, done)
			<-done
		}
		pprof.StopCPUProfile()
		parsed, err := profile.Parse(&cpu)
		require.NoError(t, err)
		before := len(parsed.Sample)
		grown, err := growth(parsed)
		if err != nil {
			require.True(t, time.Now().Before(deadline), "%v", err)
			continue
		}
		require.NoError(t, grown.CheckValid())
		assert.Len(t, parsed.Sample, before, "the CPU profile is as it was")
		leaves := make(map[string]bool)
		for _, s := range grown.Sample {
			name := s.Location[0].Line[0].Function.Name
			require.False(t, strings.HasPrefix(name, "runtime.newstack") || strings.HasPrefix(name, "runtime.morestack"), name)
			leaves[name[strings.LastIndex(name, ".")+1:]] = true
		}
		if leaves["growsStack"] {
			return
		}
		require.True(t, time.Now().Before(deadline), "no growth was sampled: %v", leaves)
	}
}

func TestGrowthOfOtherProfile(t *testing.T) {
	_, err := growth(&profile.Profile{SampleType: []*profile.ValueType{{Type: "inuse_space", Unit: "bytes"}}})
	require.ErrorContains(t, err, "no CPU profile")
}
