package compare

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTally(t *testing.T) {
	tally := NewTally(2)
	tally.Add("app", "T", 0, 1, 5, 80)
	tally.Add("app", "T", 0, 1, 1, 16)
	tally.Add("lib", "T", 1, 0, 2, 8)
	tally.Add("app", "T", 1, 0, 7, 112)
	tally.Add("app", "T", 1, 1, 8, 128)
	assert.Equal(t, []*Row{
		{Group: "app", Name: "T", Objects: Change{Series{0, 6}, Series{7, 8}}, Bytes: Change{Series{0, 96}, Series{112, 128}}},
		{Group: "lib", Name: "T", Objects: Change{Series{0, 0}, Series{2, 0}}, Bytes: Change{Series{0, 0}, Series{8, 0}}},
	}, tally.Rows)
}

func TestByGrowth(t *testing.T) {
	rows := []Row{
		one("fewer", change(9, 1), change(8, 80)),
		one("b", change(0, 1), change(0, 8)),
		one("a", change(1, 2), change(1, 9)),
		one("larger", change(0, 1), change(0, 16)),
		one("more", change(0, 2), change(0, 2)),
	}
	var names []string
	for _, r := range slices.SortedFunc(slices.Values([]*Row{&rows[0], &rows[1], &rows[2], &rows[3], &rows[4]}), ByGrowth) {
		names = append(names, r.Name)
	}
	assert.Equal(t, []string{"more", "larger", "a", "b", "fewer"}, names)
}
