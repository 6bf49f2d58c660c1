package textfmt

import (
	"slices"
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

func TestNearest(t *testing.T) {
	names := []string{"sessions", "session", "Sections", "session", "orders"}
	for _, tt := range []struct {
		written string
		limit   int
		want    []string
	}{
		{"sesion", 2, []string{"session"}},
		{"SESSIONS", 2, []string{"sessions"}},
		{"sessiion", 1, []string{"session"}},
		{"setions", 2, []string{"Sections"}},
		{"secsions", 1, []string{"sessions", "Sections"}},
		{"carts", 2, nil},
		{"", 0, nil},
	} {
		if got := Nearest(tt.written, names, tt.limit); !slices.Equal(got, tt.want) {
			t.Errorf("Nearest(%q, %d) = %q, want %q", tt.written, tt.limit, got, tt.want)
		}
	}
}
