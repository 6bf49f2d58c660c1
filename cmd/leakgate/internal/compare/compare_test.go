package compare

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSeries(t *testing.T) {
	for _, c := range []struct {
		values         Series
		median, spread int64
	}{
		{nil, 0, 0},
		{Series{7}, 7, 0},
		{Series{9, 1}, 1, 8},
		{Series{5, 1, 2}, 2, 3},
		{Series{4, -10, 5, 6}, 4, 14},
	} {
		before := append(Series(nil), c.values...)
		assert.Equal(t, c.median, c.values.Median(), "%v", c.values)
		assert.Equal(t, c.spread, c.values.Spread(), "%v", c.values)
		assert.Equal(t, before, c.values, "the order of measurements stays")
	}
}

func TestChange(t *testing.T) {
	for _, c := range []struct {
		before, after Series
		trend         int
		delta         int64
	}{
		{Series{5}, Series{5}, 0, 0},
		{Series{5}, Series{6}, 1, 1},
		{Series{5}, Series{4}, -1, -1},
		{Series{5, 8}, Series{8, 9}, 0, 3}, // they overlap
		{Series{5, 8}, Series{9, 20}, 1, 4},
		{Series{5, 8}, Series{4, 1}, -1, -4},
		{Series{5, 8}, Series{6}, 0, 1},
		{nil, Series{9}, 0, 9},
		{Series{9}, nil, 0, -9},
	} {
		change := Change{c.before, c.after}
		assert.Equal(t, c.trend, change.Trend(), "%v", change)
		assert.Equal(t, c.delta, change.Delta(), "%v", change)
	}
}

func TestRowGrew(t *testing.T) {
	up, down, same := Change{Series{1}, Series{2}}, Change{Series{2}, Series{1}}, Change{Series{1}, Series{1}}
	for _, c := range []struct {
		objects, bytes Change
		grew, shrank   bool
	}{
		{same, same, false, false},
		{up, same, true, false},
		{same, up, true, false},
		{down, same, false, true},
		{same, down, false, true},
		{up, down, true, false},
		{down, up, true, false},
		{down, down, false, true},
	} {
		r := Row{Objects: c.objects, Bytes: c.bytes}
		assert.Equal(t, c.grew, r.Grew(), "%v", r)
		assert.Equal(t, c.shrank, r.Shrank(), "%v", r)
	}
}
