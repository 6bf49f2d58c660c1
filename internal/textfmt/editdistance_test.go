package textfmt

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestEditDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b  string
		limit int
		want  int
	}{
		{"", "", 3, 0},
		{"", "abc", 3, 3},
		{"sessions", "sessions", 3, 0},
		{"sesions", "sessions", 3, 1},
		{"sessions", "sesions", 3, 1},
		{"sessoins", "sessions", 3, 1}, // swapped
		{"ca", "ac", 1, 1},
		{"kitten", "sitting", 3, 3},
		{"kitten", "sitting", 2, 3},
		{"kitten", "sitting", 0, 1},
		{"abcdef", "uvwxyz", 4, 5},
		{"a", "abcdef", 2, 3},
	} {
		require.Equal(t, tt.want, EditDistance(tt.a, tt.b, tt.limit), tt.a+" "+tt.b)
		require.Equal(t, tt.want, EditDistance(tt.b, tt.a, tt.limit), tt.b+" "+tt.a)
	}
}
