package symbol

import (
	"runtime"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
)

func TestGoMinor(t *testing.T) {
	for version, want := range map[string]int{
		"go1.26.8": 26, "go1.26rc1": 26, "go1.26.8 X:nogreenteagc": 26, "devel go1.28-0123456 Thu Jan 1": 28, "go1.30": 30,
	} {
		got, ok := GoMinor(version)
		assert.True(t, ok, version)
		assert.Equal(t, want, got, version)
	}
	for _, version := range []string{"", "devel +0123456", "go1.", "go1.x", "go2.1"} {
		_, ok := GoMinor(version)
		assert.False(t, ok, version)
	}
	_, ok := GoMinor(runtime.Version())
	assert.True(t, ok, runtime.Version())
}
