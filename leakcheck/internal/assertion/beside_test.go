package assertion

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
)

// A test that runs beside this one is named, not one that waits for its subtest.
func TestBeside(t *testing.T) {
	assert.Equal(t, "", advise(running()))
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
	assert.Equal(t, "1 other test was running: TestBeside; what they do may count too: leave out Parallel, or run each test alone with leakgate run -isolate", advise(running()))
	w := newWorld(t, sessions(9))
	ft, _ := w.assert(atMost(9, "app.sessions"))
	assert.Contains(t, ft.errorText(), "\n1 other test was running: TestBeside; ")
	ft, _ = w.assert(atMost(-1, "app.sessions"))
	assert.NotContains(t, ft.errorText(), "running", "the assertion itself is wrong")
	a := w.begin(&fakeT{}, atMost(9, "app.sessions"))
	a.Alone = true
	assert.Empty(t, a.beside())
	close(end)
	<-ended
}

// A test whose goroutine has begun, and not yet called the test's function, is not named.
func TestBesideStart(t *testing.T) {
	assert.Empty(t, otherTests("goroutine 7 [running]:\n\ngoroutine 8 [runnable]:\ntesting.tRunner(0xc0001, 0x5f)\n\t/go/src/testing/testing.go:2036 +0x1d\n"))
}

// A test that SkipNow or FailNow has ended is not named while its goroutine ends, unless a function
// that it deferred still runs.
func TestBesideEnd(t *testing.T) {
	const own = "goroutine 7 [running]:\n\n"
	const ended = "runtime.Goexit()\n\t/go/src/runtime/panic.go:697 +0x71\n" +
		"testing.(*common).SkipNow(0xc0001)\n\t/go/src/testing/testing.go:1259 +0x45\n" +
		"app.TestOther.func1(0xc0001)\n\t/app/other_test.go:7 +0x15\n" +
		"testing.tRunner(0xc0001, 0x5f)\n\t/go/src/testing/testing.go:2036 +0xea\n" +
		"created by testing.(*T).Run in goroutine 7\n\t/go/src/testing/testing.go:2101 +0x4c5\n"
	assert.Empty(t, otherTests(own+"goroutine 8 [runnable]:\n"+ended))
	assert.Empty(t, otherTests(own+"goroutine 8 [runnable]:\ntesting.tRunner.func1()\n\t/go/src/testing/testing.go:1900 +0x1\n"+ended))
	assert.Equal(t, []string{"TestOther"}, otherTests(own+"goroutine 8 [runnable]:\napp.TestOther.deferwrap1()\n\t/app/other_test.go:6 +0x1\n"+ended))
}
