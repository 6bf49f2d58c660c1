package assertion

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

// What is asked about another process is not answered from this one: neither its objects, nor the
// variables on its stack, nor another run of its test.
func TestAboutAnotherProcess(t *testing.T) {
	c := About(struct{ request.Process }{})
	assert.True(t, c.Prove == nil && c.Ended == nil && c.RunAlone == nil)
	assert.True(t, c.Native.Blocks == nil && c.Native.Holders == nil && c.Native.Freed == nil && c.Native.Record == nil)
	this := About(nil)
	assert.True(t, this.Prove != nil && this.Ended != nil && this.RunAlone != nil)
}
