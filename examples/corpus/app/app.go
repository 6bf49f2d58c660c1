// Package app has what the programs of the corpus have in common: a session.
package app

import (
	"fmt"
	"sync/atomic"
)

// A Session is the object that most programs of the corpus keep.
type Session struct {
	ID   string
	Name [4]string
	data []byte
}

var made atomic.Int64

// Next returns a number that is not used twice.
func Next() int { return int(made.Add(1)) }

// NewSession returns a session with a unique ID.
func NewSession() *Session {
	return &Session{ID: fmt.Sprint("session-", Next()), data: make([]byte, 500)}
}

// Expire ends the session.
func (s *Session) Expire() { s.data = nil }

// Notify tells the session that something has happened.
func (s *Session) Notify() {}

// Close ends the session, as an io.Closer.
func (s *Session) Close() error {
	s.Expire()
	return nil
}

// String is the session's ID.
func (s *Session) String() string { return s.ID }
