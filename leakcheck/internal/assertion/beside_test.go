package assertion

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
)

// A test that runs beside this one is named, not one that waits for its subtest.
func TestBeside(t *testing.T) {
	assert.Equal(t, "", beside())
	runs, end, ended := make(chan bool), make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		t.Run("waits", func(t *testing.T) {
			t.Run("runs", func(*testing.T) {
				close(runs)
				<-end
			})
		})
	}()
	<-runs
	assert.Equal(t, "1 other test was running: TestBeside; what they do may count too: leave out Parallel, or run each test alone with leakgate run -isolate", beside())
	close(end)
	<-ended
}

// A test whose goroutine has begun, and not yet called the test's function, is not named.
func TestBesideStart(t *testing.T) {
	assert.Empty(t, otherTests("goroutine 7 [running]:\n\ngoroutine 8 [runnable]:\ntesting.tRunner(0xc0001, 0x5f)\n\t/go/src/testing/testing.go:2036 +0x1d\n"))
}
