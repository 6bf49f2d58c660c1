package present

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// A Beat logs at intervals what a command is doing, where there is no terminal: CI systems end jobs
// that print nothing for long. It is for commands without a Progress.
type Beat struct {
	mu      sync.Mutex
	at      string
	started time.Time
	end     func()
}

// StartBeat begins to write a line to log every interval, until Stop is called. On a screen that is
// a terminal it writes nothing.
func StartBeat(screen *Screen, log io.Writer, interval time.Duration, at string) *Beat {
	b := &Beat{at: at, started: time.Now(), end: func() {}}
	if !screen.Live() {
		b.end = repeat(interval, func() { b.say(log) })
	}
	return b
}

// At changes the text about what the command is doing.
func (b *Beat) At(at string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at = at
}

func (b *Beat) say(log io.Writer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, _ = fmt.Fprintf(log, "leakgate: %s, %.0fs\n", b.at, time.Since(b.started).Seconds())
}

// Stop ends the logging. Nothing is written after it has returned.
func (b *Beat) Stop() { b.end() }
