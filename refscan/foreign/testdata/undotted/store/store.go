// Package store has a type that leads to another one, which leads to sessions.
package store

// A Session is what a Shelf has.
type Session struct {
	ID   int
	Next *Session
}

// A Shelf has sessions.
type Shelf struct{ Sessions []*Session }

// A Store has a Shelf.
type Store struct {
	Name  string
	Shelf *Shelf
}

// New returns a store with 20 sessions.
func New() *Store {
	s := &Store{Name: "store", Shelf: &Shelf{}}
	for i := range 20 {
		s.Shelf.Sessions = append(s.Shelf.Sessions, &Session{ID: i})
	}
	return s
}
