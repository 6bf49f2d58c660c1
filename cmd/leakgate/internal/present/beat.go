package present

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
)

// A Beat says what a command is doing: on a terminal always, elsewhere at intervals, since CI
// systems end jobs that print nothing for long. It is for commands without a Progress.
type Beat struct {
	mu      sync.Mutex
	at      string
	started time.Time
	end     func()
}

// StartBeat shows what is done below a screen that is a terminal, or else begins to write a line to
// log every interval, until Stop is called.
func StartBeat(screen *Screen, log io.Writer, interval time.Duration, at string) *Beat {
	b := &Beat{at: at, started: time.Now()}
	if screen.Live() {
		b.end = screen.Show(1, b.text, func() []string { return nil })
	} else {
		b.end = repeat(interval, func() { _, _ = fmt.Fprintf(log, "leakgate: %s\n", b.text()) })
	}
	return b
}

// At changes the text about what the command is doing.
func (b *Beat) At(at string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at = at
}

func (b *Beat) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := fmt.Sprintf("%s, %.0fs", b.at, time.Since(b.started).Seconds())
	if building := gotest.Building(); building != "" {
		text += ": " + building
	}
	return text
}

// Stop ends it. Nothing is written after it has returned.
func (b *Beat) Stop() { b.end() }
