//go:build cgo

package corpus

import (
	"runtime/cgo"
	"testing"

	"github.com/leakgate/leakgate/leakcheck"
)

// A handle for C that is not deleted.
func TestLeakHandle(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() { cgo.NewHandle(newSession()) })
}
