package imagetest

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

// Limits of what reads the image, whatever it holds. A scan of an undamaged image allocates a few
// MB and copies some thousand times; see TestSound.
const (
	maxAllocated = 256 << 20
	MaxCopies    = 50_000
	watchdog     = 2 * time.Minute // makes a hang print stacks instead of stopping CI
)

// Bounded runs what reads the image and returns an error if it allocated too much memory or read
// the image too often.
func (p *Program) Bounded(run func()) error {
	alarm := time.AfterFunc(watchdog, func() {
		debug.SetTraceback("all")
		buf := make([]byte, 1<<20)
		fmt.Fprintf(os.Stderr, "reading a damaged image does not end:\n%s\n", buf[:runtime.Stack(buf, true)])
		os.Exit(2)
	})
	defer alarm.Stop()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > maxAllocated {
		return fmt.Errorf("reading a damaged image allocated %d MB", n>>20)
	}
	if p.Copies > MaxCopies {
		return fmt.Errorf("a damaged image was read %d times", p.Copies)
	}
	return nil
}
