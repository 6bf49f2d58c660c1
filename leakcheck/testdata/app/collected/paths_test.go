package collected

import (
	"iter"
	"maps"
	"testing"

	"example.com/app/cmd/go-cache"
	"github.com/leakgate/leakgate/leakcheck"
)

var stack []*Session

func TestLeakPopped(t *testing.T) {
	s := Login("r")
	s.Logout()
	leakcheck.ExpectCollected(t, s, "popped")
	stack = append(stack, s)
	stack = stack[:len(stack)-1]
}

var (
	each  iter.Seq[*Session]
	twice []*Session
)

// Generic code has a type of unknown shape.
func TestLeakSequence(t *testing.T) {
	s := Login("s")
	s.Logout()
	leakcheck.ExpectCollected(t, s, "logged out")
	each = maps.Values(map[string]*Session{"s": s})
}

func TestLeakTwice(t *testing.T) {
	s := Login("t")
	s.Logout()
	leakcheck.ExpectCollected(t, s, "logged out")
	twice = []*Session{s, s}
}

func TestLeakOtherName(t *testing.T) {
	cache.Keep(1)
	leakcheck.ExpectCollected(t, cache.Last(), "used")
}
