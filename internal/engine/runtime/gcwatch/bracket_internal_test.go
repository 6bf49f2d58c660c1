package gcwatch

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
)

// A jump is told apart by the records of the mark phase before if that had not found it, too, and
// by those of an earlier moment where it had, or where both were published at once.
func TestBracket(t *testing.T) {
	recorded := func(before, alive int64) []Recorded {
		return []Recorded{{Stack: []uint64{1}, Before: before, Alive: alive}}
	}
	earlier := recorded(0, 5)
	for _, tt := range []struct {
		name            string
		now             []Recorded
		sudden, oneMore bool
		before, alive   int64
	}{
		{"sudden", recorded(7, 32), true, false, 7, 32},
		{"the phase before has found it, too", recorded(32, 33), false, false, 5, 33},
		{"published at once", recorded(32, 32), true, false, 5, 32},
		{"one more has ended", recorded(32, 40), true, true, 5, 32},
		{"less than earlier", recorded(3, 4), false, false, 4, 4},
	} {
		all := bracket(tt.now, tt.sudden, tt.oneMore, earlier)
		assert.Equal(t, []int64{tt.before, tt.alive}, []int64{all[0].Before, all[0].Alive}, tt.name)
	}
}
