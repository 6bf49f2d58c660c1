// Package probe is linked into tests that ask for their own debug information.
package probe

import "example.com/dep.v2"

// Session has a bit of everything.
type Session struct {
	Name  string
	Data  []byte
	Peers map[string]*Session
	Done  chan struct{}
	Hook  func() int
	Err   error
	Any   any
	Pair  [2]*Session
	dep.Options
}

var (
	Sessions = map[string]*Session{}
	Count    int
	Tagged   = tagged
	Version  = "unset"
	last     *Session
)

// Login keeps a session in two package variables.
func Login(name string) *Session {
	s := &Session{Name: name, Data: []byte(name), Options: dep.Default()}
	Sessions[name] = s
	last = s
	Count++
	return s
}

// Hook returns a closure over its argument and over a variable that it changes.
//
//go:noinline
func Hook(s *Session) func() int {
	n := 0
	return func() int {
		n += Count
		for range s.Data {
			n += len(s.Name) + len(s.Peers)
		}
		return n
	}
}
