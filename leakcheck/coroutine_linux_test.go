package leakcheck

import (
	"errors"
	"iter"
	"runtime"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

//go:noinline
func countUp(from int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := from; yield(i); i++ {
		}
	}
}

//go:noinline
func pairsUp(from int) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for i := from; yield(i, i); i++ {
		}
	}
}

var heldNext func() (int, bool)

// TestLeakedCoroutines checks that coroutines of iter.Pull that nothing can switch to any more are
// blocked for ever, and that those whose functions somebody has are not.
func TestLeakedCoroutines(t *testing.T) {
	require.Slow(t)
	for name, c := range map[string]struct {
		sequence string
		do       func() (end func())
		leaked   bool
	}{
		"begun and abandoned": {"leakcheck.countUp", func() func() {
			next, _ := iter.Pull(countUp(1))
			next()
			return nil
		}, true},
		"begun and abandoned, of pairs": {"leakcheck.pairsUp", func() func() {
			next, _ := iter.Pull2(pairsUp(1))
			next()
			return nil
		}, true},
		"not begun": {"iter.Pull", func() func() {
			_, _ = iter.Pull(countUp(1))
			return nil
		}, true},
		"within an abandoned one": {"leakcheck.countUp", func() func() {
			next, _ := iter.Pull(func(yield func(int) bool) {
				inner, _ := iter.Pull(countUp(1))
				for i, ok := inner(); ok && yield(i); i, ok = inner() {
				}
			})
			next()
			return nil
		}, true},
		"of a goroutine that is blocked for ever": {"leakcheck.countUp", func() func() {
			begun := make(chan bool)
			go func() {
				next, stop := iter.Pull(countUp(1))
				defer stop()
				next()
				begun <- true
				<-make(chan int)
				next()
			}()
			<-begun
			return nil
		}, true},
		"stopped": {"leakcheck.countUp", func() func() {
			next, stop := iter.Pull(countUp(1))
			next()
			stop()
			return nil
		}, false},
		"run to its end": {"leakcheck.countUp", func() func() {
			next, _ := iter.Pull(func(yield func(int) bool) { yield(1) })
			next()
			next()
			return nil
		}, false},
		"of a package variable": {"leakcheck.countUp", func() func() {
			next, stop := iter.Pull(countUp(1))
			heldNext = next
			next()
			return func() { stop(); heldNext = nil }
		}, false},
		"of this function": {"leakcheck.countUp", func() func() {
			next, stop := iter.Pull(countUp(1))
			next()
			return stop
		}, false},
		"of this function, not begun": {"iter.Pull", func() func() {
			_, stop := iter.Pull(countUp(1))
			return stop
		}, false},
		"of a goroutine that waits for this one": {"leakcheck.countUp", func() func() {
			begun, end, ended := make(chan bool), make(chan bool), make(chan bool)
			go func() {
				next, stop := iter.Pull(countUp(1))
				next()
				begun <- true
				<-end
				stop()
				close(ended)
			}()
			<-begun
			return func() { close(end); <-ended }
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := leakedOf(c.sequence)
			end := c.do()
			after := leakedOf(c.sequence)
			runtime.KeepAlive(end)
			assert.Equal(t, c.leaked, after == before+1, "%d, %d", before, after)
			assert.True(t, c.leaked || after == before, "%d, %d", before, after)
			if end != nil {
				end()
			}
		})
	}
	err := Find(Goroutines("leakcheck.countUp").NoneLeaked())
	assert.Error(t, err)
	assert.True(t, strings.Contains(err.Error(), "coroutine in github.com/leakgate/leakgate/leakcheck.countUp.func1 (coroutine_linux_test.go:"), err)
	assert.True(t, strings.Contains(err.Error(), "usual cause: stop is not called"), err)
}

// leakedOf counts the goroutines blocked for ever that a sequence or iter.Pull started.
func leakedOf(sequence string) int64 {
	var found *FoundError
	if errors.As(Find(Goroutines(sequence).NoneLeaked()), &found) {
		return found.Findings[0].Objects
	}
	return 0
}
