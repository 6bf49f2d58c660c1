package leakcheck

import (
	"runtime"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
)

// While a test panics its variables are still on the stack, so an object that they hold is alive.
func TestExpectCollectedInPanic(t *testing.T) {
	ft := &fakeT{name: "TestPanics"}
	func() {
		defer func() { assert.Equal(t, "odd", recover()) }()
		defer ft.end()
		s := new([100]int)
		defer func() { runtime.KeepAlive(s) }()
		ExpectCollected(ft, s, "logged out")
		panic("odd")
	}()
	assert.Empty(t, ft.errors)
	assert.Equal(t, []string{"leakcheck: whether 1 object can be collected was not checked, because the test failed or was skipped"}, ft.logs)
}
