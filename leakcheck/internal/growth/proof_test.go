package growth

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/calls"
)

// Where each call leaves thousands of objects, fewer calls follow.
func TestFewer(t *testing.T) {
	for _, tt := range []struct {
		batch   int
		perCall int64
		want    int
	}{{250, 0, 250}, {250, 10, 250}, {250, 3000, 44}, {250, 1_000_000, calls.MinBatch}, {3, 1_000_000, 3}} {
		assert.Equal(t, tt.want, fewer(tt.batch, tt.perCall), tt)
	}
}
