package message_test

import (
	"fmt"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
)

// TestLimitLines checks that a long message is cut between leaks, so that each one that is shown is
// whole, and within a leak where there is no other way.
func TestLimitLines(t *testing.T) {
	leak := func(n, lines int) []string {
		block := []string{fmt.Sprintf("leak %d", n)}
		for i := range lines {
			block = append(block, fmt.Sprintf("    line %d of leak %d", i, n))
		}
		return append(block, "")
	}
	build := func(sizes ...int) []string {
		lines := []string{"title", ""}
		for i, n := range sizes {
			lines = append(lines, leak(i+1, n)...)
		}
		for i := range 8 {
			lines = append(lines, fmt.Sprintf("end %d", i))
		}
		return lines
	}
	for name, c := range map[string]struct {
		sizes []int
		last  string // the line before the cut; "": none
	}{
		"short":                 {[]int{10, 10, 10}, ""},
		"in the third":          {[]int{20, 20, 20}, "    line 19 of leak 2"},
		"in the second":         {[]int{30, 60, 10}, "    line 29 of leak 1"},
		"at the second's end":   {[]int{22, 22, 23}, "    line 21 of leak 2"},
		"many":                  {[]int{5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5}, "    line 4 of leak 7"},
		"the first is too long": {[]int{100, 3}, "    line 47 of leak 1"},
	} {
		all := build(c.sizes...)
		got := message.LimitLines(all)
		assert.True(t, len(got) <= message.MaxMessageLines, name)
		assert.Equal(t, all[len(all)-8:], got[len(got)-8:], name)
		cut := len(got) - 9
		if c.last == "" {
			assert.Equal(t, all, got, name)
			continue
		}
		assert.Equal(t, fmt.Sprintf("… %d more lines", len(all)-cut-8), got[cut], name)
		before := got[cut-1]
		if before == "" {
			before = got[cut-2]
		}
		assert.Equal(t, c.last, before, name)
	}
}
