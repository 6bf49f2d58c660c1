package growth

import (
	"testing"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/internal/testkit/assert"
)

// A stack that gets deeper is left to the snapshots, which count its frames: a frame may take no
// more than 8 bytes where the compiler has inlined others.
func TestStacksAreQuiet(t *testing.T) {
	const calls = 250
	assert.True(t, isQuiet(proof.Newcomers{}, calls))
	assert.True(t, isQuiet(proof.Newcomers{Deeper: 500}, calls))
	assert.False(t, isQuiet(proof.Newcomers{Deeper: 8 * calls}, calls))
	assert.False(t, isQuiet(proof.Newcomers{Deeper: 16 * minProofCalls}, minProofCalls))
}
