package golden

import (
	"strings"
	"testing"
)

// TestReadGrowing reads a file that has more bytes than its size says, as a growing file has.
func TestReadGrowing(t *testing.T) {
	if _, err := Read("/proc/self/status"); err == nil || !strings.Contains(err.Error(), "it grew while it was read") {
		t.Error(err)
	}
}
