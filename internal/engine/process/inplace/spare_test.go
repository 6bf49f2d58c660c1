package inplace

import (
	"os"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/testkit/assert"
)

// The list of mappings has whole pages, and what is kept is subtracted from it.
func TestSpareMemoryCountsInPages(t *testing.T) {
	var p Plan
	before, page := offheap.Kept.Load(), int64(os.Getpagesize())
	p.swapSpare([][]byte{make([]byte, 1), make([]byte, page), make([]byte, page+1)})
	assert.Equal(t, before+4*page, offheap.Kept.Load())
	p.swapSpare(nil)
	assert.Equal(t, before, offheap.Kept.Load())
}
