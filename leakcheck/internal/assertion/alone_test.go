package assertion

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
)

// An outcome that one process leaves is the one that another reads.
func TestLeftOutcome(t *testing.T) {
	a := &Assertion{Test: "TestX/a b", At: environ.Site{Line: 7}, Env: &environ.Environment{Alone: t.TempDir()}}
	left := func(o *Outcome) *Outcome {
		assert.NoError(t, a.leaveOutcome(o))
		read, err := a.readOutcome(a.Env.Alone+"/"+a.key(), "")
		assert.NoError(t, err)
		return read
	}
	assert.Equal(t, &Outcome{Verdict: "pass", Notes: []string{"one\n\"note\"", "end"}, kept: true}, left(&Outcome{Verdict: "pass", Notes: []string{"one\n\"note\"", "end"}}))
	failed := &Outcome{Verdict: "fail", Misuse: true, Message: "wrong", Notes: []string{}, kept: true}
	assert.Equal(t, failed, left(&Outcome{Verdict: "fail", Misuse: true, Message: "wrong"}))
	assert.Equal(t, failed, left(&Outcome{Verdict: "pass"}), "the first that does not pass is left")
}
