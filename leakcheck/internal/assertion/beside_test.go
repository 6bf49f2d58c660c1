package assertion

import (
	"testing"

	"github.com/leakgate/leakgate/internal/assert"
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
