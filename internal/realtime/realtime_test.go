//go:build go1.25

package realtime

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
)

const moment = 2 * time.Millisecond

func TestInBubble(t *testing.T) {
	assert.False(t, InBubble())
	synctest.Test(t, func(t *testing.T) { assert.True(t, InBubble()) })
}

// Now is the time of the system. In a bubble it goes on, while the clock there stands still.
func TestNow(t *testing.T) {
	assert.True(t, time.Since(Now()).Abs() < time.Hour)
	synctest.Test(t, func(t *testing.T) {
		before := Now()
		Sleep(moment)
		assert.True(t, Now().Sub(before) >= moment)
	})
}

// The bubble's clock stands still while Sleep sleeps.
func TestSleepInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bubble, system := time.Now(), Clock()
		Sleep(moment)
		assert.Equal(t, bubble, time.Now())
		assert.True(t, Clock()-system >= moment)
	})
}

// Both clocks advance if the bubble's can.
func TestSleepBoth(t *testing.T) {
	outside := make(chan struct{})
	for name, c := range map[string]struct {
		start    func() (stop func())
		advances bool
	}{
		"alone": {func() func() { return func() {} }, true},
		"a goroutine waits in the bubble": {func() func() {
			inside := make(chan struct{})
			go func() { <-inside }()
			synctest.Wait() // a busy machine may let it wait to begin
			return func() { close(inside) }
		}, true},
		"a goroutine waits for something outside": {func() func() {
			go func() { <-outside }()
			return func() { close(outside) }
		}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			stop := c.start()
			bubble, system := time.Now(), Clock()
			SleepBoth(moment)
			assert.Equal(t, c.advances, time.Since(bubble) == moment, name)
			assert.True(t, Clock()-system >= moment, name)
			stop()
		})
	}
	SleepBoth(moment) // not in a bubble
}

// The stack traces of many goroutines before those of the bubble do not hide one of the bubble.
func TestIsAlone(t *testing.T) {
	const own = "goroutine 9 [running, synctest bubble 3]:\nmain.f()\n"
	outside := strings.Repeat("\ngoroutine 7 [select]:\nmain.g()\n", 100_000)
	const durable = "\ngoroutine 8 [select (durable), synctest bubble 3]:\nmain.g()\n"
	const busy = "\ngoroutine 8 [IO wait, synctest bubble 3]:\nmain.g()\n"
	const another = "\ngoroutine 8 [IO wait, synctest bubble 33] {\"a\": \"b\"}:\nmain.g()\n"
	assert.True(t, isAlone(own+outside+durable+another))
	assert.False(t, isAlone(own+outside+durable+busy))
	assert.False(t, isAlone("")) // too long
}
