package golden

import (
	"strings"
	"testing"
)

// TestReadGrowing reads a file that has more than its size says, as one has that grows.
func TestReadGrowing(t *testing.T) {
	if _, err := Read("/proc/self/status"); err == nil || !strings.Contains(err.Error(), "it grew while it was read") {
		t.Error(err)
	}
}
