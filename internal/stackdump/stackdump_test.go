package stackdump

import (
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/assert"
)

func TestAll(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	const others = 1000
	for range others {
		go func() { <-stop }()
	}
	goroutines := strings.Split(All(), "\n\n")
	assert.Contains(t, goroutines[0], "stackdump.TestAll")
	waiting := 0
	for _, g := range goroutines {
		if strings.Contains(g, "stackdump.TestAll.func1") {
			waiting++
		}
	}
	assert.Equal(t, others, waiting)
}
