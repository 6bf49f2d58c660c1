// Package shop has a store whose sessions are not taken out.
package shop

import "sync"

// A Session is what a Store keeps.
type Session struct {
	id  int
	buf [40]byte
	at  *Session
}

// A Store keeps its sessions for ever.
type Store struct {
	mu       sync.Mutex
	sessions map[int]*Session
}

// New makes a store.
func New() *Store { return &Store{sessions: make(map[int]*Session)} }

// Serve opens a session, and forgets to take it out.
func (s *Store) Serve(id int) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &Session{id: id}
	s.sessions[id] = x
	return x
}

// Close takes all sessions out.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.sessions)
}

// A Server is a Store behind an interface.
type Server interface {
	Serve(id int) *Session
	Close()
}

// An Owner has a store behind a pointer.
type Owner struct{ Store *Store }

// NewOwner makes an owner behind a further pointer.
//
//go:noinline
func NewOwner() **Owner {
	o := &Owner{Store: New()}
	return &o
}

// A Pool is a store of any type.
type Pool[T any] struct{ all []*T }

// NewPool makes a pool.
//
//go:noinline
func NewPool[T any]() *Pool[T] { return new(Pool[T]) }

// Sessions makes a map of n sessions.
//
//go:noinline
func Sessions(n int) map[int]*Session {
	m := make(map[int]*Session)
	for i := range n {
		m[i] = new(Session)
	}
	return m
}

// Add adds a value.
func (p *Pool[T]) Add(v *T) { p.all = append(p.all, v) }

// Default is a store that lasts.
var Default *Store

// Call calls f.
//
//go:noinline
func Call(f func()) { f() }
