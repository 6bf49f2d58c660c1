package realtime

import (
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
)

func TestAllStacks(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	const others = 1000
	for range others {
		go func() { <-stop }()
	}
	goroutines := strings.Split(AllStacks(), "\n\n")
	assert.Contains(t, goroutines[0], "realtime.TestAllStacks")
	waiting := 0
	for _, g := range goroutines {
		if strings.Contains(g, "realtime.TestAllStacks.func1") {
			waiting++
		}
	}
	assert.Equal(t, others, waiting)
}
