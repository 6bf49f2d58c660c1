// Package database leaks by database/sql.
package database

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"

	"example.com/corpus/app"
	"example.com/corpus/internal/judge"
)

// Group is the cases of the package.
var Group = judge.Group{Name: "database", Cases: []judge.Case{
	{Name: "RowsOpen", Leak: rowsOf(false), Fixed: rowsOf(true), Grows: judge.Objects, Culprit: `cause: sql\.Rows, a sql\.Tx or a sql\.Conn is not closed`},
	{Name: "RowsOpenWithContext", Leak: rowsWithContext(false), Fixed: rowsWithContext(true), Grows: judge.Goroutines, Culprit: `database/sql\.\(\*Rows\)\.awaitDone`},
	{Name: "TxOpen", Leak: transactions(false), Fixed: transactions(true), Grows: judge.Goroutines, Culprit: `database/sql\.\(\*Tx\)\.awaitDone`},
	{Name: "StmtOpen", Leak: statements(false), Fixed: statements(true), Grows: judge.Objects, Culprit: `cause: a sql\.Stmt is not closed`},
	{Name: "ConnOut", Leak: conns(false), Fixed: conns(true), Grows: judge.Objects, Culprit: `cause: sql\.Rows, a sql\.Tx or a sql\.Conn is not closed`},
	{Name: "DBPerCall", Leak: openings(false), Fixed: openings(true), Grows: judge.Goroutines, Culprit: `database/sql\.\(\*DB\)\.connectionOpener`},
	{Name: "DriverPerCall", Leak: judge.Op(registerDriver), Fixed: judge.Op(makeDriver), Grows: judge.Entries(func() int { return len(sql.Drivers()) }), Culprit: `database/sql\.drivers`},
	{Name: "PreparedByText", Leak: prepared(false), Fixed: prepared(true), Grows: judge.Objects, Culprit: `via op\.known\b`},
	{Name: "Waiters", Leak: waiters(false), Fixed: waiters(true), Grows: judge.Goroutines, Culprit: `database\.count`},

	{Name: "Queries", Healthy: queries, Grows: judge.Objects},
	{Name: "Pool", Healthy: pooled, Grows: judge.Goroutines},
	{Name: "Transactions", Healthy: transactions(true), Grows: judge.Objects},
}}

func open(t *testing.T) *sql.DB {
	db := sql.OpenDB(one{})
	t.Cleanup(func() { db.Close() })
	return db
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func rowsOf(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		db := open(t)
		return func() {
			rows := must(db.Query("SELECT n"))
			rows.Next()
			if fixed {
				rows.Close()
			}
		}
	}
}

func rowsWithContext(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		db := open(t)
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(cancel)
		return func() {
			rows := must(db.QueryContext(ctx, "SELECT n"))
			rows.Next()
			if fixed {
				rows.Close()
			}
		}
	}
}

func transactions(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		db := open(t)
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(cancel)
		return func() {
			tx := must(db.BeginTx(ctx, nil))
			_ = must(tx.Exec("UPDATE n"))
			if fixed {
				_ = tx.Commit()
			}
		}
	}
}

func statements(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		db := open(t)
		return func() {
			s := must(db.Prepare("SELECT n"))
			_ = must(s.Exec())
			if fixed {
				s.Close()
			}
		}
	}
}

func conns(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		db := open(t)
		return func() {
			c := must(db.Conn(context.Background()))
			if fixed {
				c.Close()
			}
		}
	}
}

func openings(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		return func() {
			db := sql.OpenDB(one{})
			_ = must(db.Exec("UPDATE n"))
			if fixed {
				db.Close()
			} else {
				t.Cleanup(func() { db.Close() })
			}
		}
	}
}

func registerDriver() {
	name := fmt.Sprint("one-", app.Next())
	sql.Register(name, &oneDriver{name})
}

func makeDriver() { _ = &oneDriver{fmt.Sprint("one-", app.Next())} }

func prepared(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		db := open(t)
		known := map[string]*sql.Stmt{}
		return func() {
			text := "SELECT n WHERE id = ?"
			if !fixed {
				text = fmt.Sprint("SELECT n WHERE id = ", app.Next())
			}
			if known[text] == nil {
				known[text] = must(db.Prepare(text))
			}
			_ = must(known[text].Exec())
		}
	}
}

func count(db *sql.DB, done *sync.WaitGroup) {
	defer done.Done()
	var n int
	_ = db.QueryRow("SELECT n").Scan(&n)
}

// waiters wait for the only connection, which is not given back.
func waiters(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		db := open(t)
		db.SetMaxOpenConns(1)
		if c := must(db.Conn(context.Background())); fixed {
			c.Close()
		}
		return func() {
			var done sync.WaitGroup
			done.Add(1)
			go count(db, &done)
			if fixed {
				done.Wait()
			}
		}
	}
}

func queries(t *testing.T) func() {
	db := open(t)
	return func() {
		rows := must(db.Query("SELECT n"))
		for rows.Next() {
			var n int
			if err := rows.Scan(&n); err != nil || n != 1 {
				panic(err)
			}
		}
	}
}

func pooled(t *testing.T) func() {
	db := open(t)
	db.SetMaxOpenConns(4)
	return func() {
		var done sync.WaitGroup
		for range 8 {
			done.Add(1)
			go count(db, &done)
		}
		done.Wait()
	}
}
