// Package store prepares statements of SQLite, a C library, and does not close all of them. So its
// test fails; leakgate run -native says which calls of C code allocated what is left.
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

// Fixed closes its statement.
func (s *Store) Fixed(id int) (n int, err error) {
	stmt, err := s.db.PrepareContext(context.Background(), "select ?+1")
	if err != nil {
		return 0, err
	}
	defer stmt.Close()
	return n, stmt.QueryRow(id).Scan(&n)
}
