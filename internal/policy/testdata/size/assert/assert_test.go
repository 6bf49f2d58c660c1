// Package assert is a test binary that does what most users do with leakcheck.
package assert

import (
	"testing"

	"github.com/leakgate/leakgate/leakcheck"
)

type session struct{ user string }

var sessions map[string]*session

func TestRetained(t *testing.T) {
	leakcheck.AssertRetained(t,
		leakcheck.Root("assert.sessions").MaxObjects(1),
		leakcheck.Type[*session]().None(),
	)
	t.Log(len(sessions))
}
