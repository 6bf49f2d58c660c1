package present

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
)

// A lockedText is written by one goroutine and read by another.
type lockedText struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Without a terminal, a line at every interval says how far the run is, even if nothing happens.
// synctest provides the clock.
func TestProgressSpeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedText
		var screen strings.Builder
		p := NewProgress(NewScreen(&screen, nil), 2, false, func() int { return 7 })
		stop := p.Animate(&log, 10*time.Second)
		lines := func() int { return strings.Count(log.String(), "\n") }
		for n := range 6 {
			time.Sleep(10 * time.Second)
			synctest.Wait()
			require.Equal(t, n+1, lines(), "nothing has happened")
		}
		p.Event(&gotest.Event{Action: "start", Package: "p"})
		time.Sleep(25 * time.Second)
		synctest.Wait()
		require.Equal(t, 8, lines())
		p.Event(&gotest.Event{Action: "run", Package: "p", Test: "TestA"})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		p.Event(&gotest.Event{Action: "fail", Package: "p", Test: "TestA"})
		p.Event(&gotest.Event{Action: "fail", Package: "p"})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		stop()
		time.Sleep(time.Hour)
		require.Equal(t, []string{
			"leakgate: packages 0/2  tests 0  assertions 7  failed 0  70s; at: p 10s",
			"leakgate: packages 0/2  tests 0  assertions 7  failed 0  80s; at: p 20s",
			"leakgate: packages 0/2  tests 1  assertions 7  failed 0  90s; running: p.TestA 5s",
			"leakgate: packages 1/2  tests 1  assertions 7  failed 1  100s",
		}, strings.Split(strings.TrimSpace(log.String()), "\n")[6:])
	})
}

func TestBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedText
		b := StartBeat(NewScreen(&log, nil), &log, 10*time.Second, "loading packages")
		time.Sleep(15 * time.Second)
		b.At("measuring the base")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		b.Stop()
		time.Sleep(time.Hour)
		require.Equal(t, "leakgate: loading packages, 10s\nleakgate: measuring the base, 20s\n", log.String())

		b = StartBeat(NewScreen(&log, func() int { return 80 }), &log, 10*time.Second, "on a terminal")
		time.Sleep(time.Minute)
		b.Stop()
		require.Contains(t, log.String(), "] on a terminal, 7s")
		require.NotContains(t, log.String(), "leakgate: on a terminal")
	})
}
