package textfmt

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
)

func TestEnumerateFirst(t *testing.T) {
	items := []string{"a", "b", "c", "d"}
	for most, want := range map[int]string{1: "a and 3 more", 2: "a, b and 2 more", 3: "a, b, c and 1 more", 4: "a, b, c and d"} {
		assert.Equal(t, want, EnumerateFirst(items, most))
	}
	assert.Equal(t, []string{"a", "b", "c", "d"}, items)
}
