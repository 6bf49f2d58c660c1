package check

import (
	"testing"

	"github.com/leakgate/leakgate/internal/engine/native/nativeholders"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// A cut that is judged again says the same: native blocks count once.
func TestCutTwice(t *testing.T) {
	native := []nativeholders.Sum{{Blocks: 2, Bytes: 64}}
	for want, c := range map[string]*cut{
		"; cutting it would free 5 objects, 164 B, of it 2 native blocks, 64 B":          {Cut: observe.Cut{Native: native}, holders: []*tree.Branch{{Retained: tree.Tally{Objects: 3, Bytes: 100}}}},
		"; cutting all of them would free 9 objects, 364 B, of it 2 native blocks, 64 B": {Cut: observe.Cut{Native: native, Set: &refscan.NodeSet{RetainedObjects: 7, RetainedBytes: 300}}, holders: []*tree.Branch{{}}},
	} {
		for range 2 {
			var f Finding
			c.judge(&f, &request.Bound{}, nil)
			assert.Equal(t, want, f.Amount)
		}
	}
}
