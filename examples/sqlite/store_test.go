package store

import (
	"database/sql"
	"testing"

	"github.com/leakgate/leakgate/leakcheck"
	_ "github.com/mattn/go-sqlite3"
)

func open(t *testing.T) *Store {
	t.Helper()
	db, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	return &Store{db: db}
}

func TestLeaky(t *testing.T) { assertNoGrowth(t, open(t).Leaky) }

func TestFixed(t *testing.T) { assertNoGrowth(t, open(t).Fixed) }

func assertNoGrowth(t *testing.T, query func(id int) (int, error)) {
	t.Helper()
	leakcheck.AssertNoGrowth(t, func() {
		if n, err := query(41); err != nil || n != 42 {
			t.Fatal(n, err)
		}
	})
}
