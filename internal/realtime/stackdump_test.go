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

// A goroutine that has not begun may have no function of the program: it is named after the one
// with the go statement.
func TestEntry(t *testing.T) {
	const text = `goroutine 7 [select]:
main.wait()
	/app/main.go:7 +0x1d
main.serve({0x1, 0x2})
	/app/main.go:9 +0x1d
created by main.main in goroutine 1
	/app/main.go:3 +0x1d

goroutine 8 [runnable]:
runtime.goexit({})
	/go/src/runtime/asm_amd64.s:1771 +0x1
created by main.start in goroutine 7
	/app/main.go:12 +0x1d

goroutine 9 [runnable]:
runtime.goexit({})
	/go/src/runtime/asm_amd64.s:1771 +0x1
`
	var entries []string
	Goroutines(text, func(g *Goroutine) { entries = append(entries, g.Entry()) })
	assert.Equal(t, []string{"main.serve", "main.start", "runtime.goexit"}, entries)
}
