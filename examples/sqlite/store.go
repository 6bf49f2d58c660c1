// Package store prepares statements of SQLite, which is C, and does not close all of them. Its test fails for that:
// leakgate run -native says which calls of C code are behind it.
package store

import (
	"context"
	"database/sql"
)

// A Store answers from a database.
type Store struct{ db *sql.DB }

// Leaky forgets to close its statement.
func (s *Store) Leaky(id int) (n int, err error) {
	stmt, err := s.db.PrepareContext(context.Background(), "select ?+1")
	if err != nil {
		return 0, err
	}
	return n, stmt.QueryRow(id).Scan(&n)
}

// Fixed closes it.
func (s *Store) Fixed(id int) (n int, err error) {
	stmt, err := s.db.PrepareContext(context.Background(), "select ?+1")
	if err != nil {
		return 0, err
	}
	defer stmt.Close()
	return n, stmt.QueryRow(id).Scan(&n)
}
