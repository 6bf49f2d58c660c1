package holder // want package:"values"

type Session struct{ next *Session }

type Store struct{ all map[string]*Session }

func New() *Store { return &Store{map[string]*Session{}} }

func (s *Store) Login(name string) *Session {
	s.all[name] = new(Session)
	return s.all[name]
}

// Shop leads to sessions by another struct.
type Shop struct {
	stores []struct{ Store }
	Name   string
}

func (s *Shop) Open() {}

// Pool has goroutines until it is closed.
type Pool struct{ idle []*Session }

func (p *Pool) Get() {}

func (p *Pool) Close() {}

// Counter leads to no session.
type Counter struct{ n map[string]int }

func (c *Counter) Add() {}

var global *Store

func Serve(s *Store) { global = s }
